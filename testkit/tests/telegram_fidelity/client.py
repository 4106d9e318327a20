"""An independent client against the fake: python-telegram-bot, as its users use it.

Each function below is one claim about the fake. Persons act through the test that started this: a line of JSON on
stdout asks for something, a line on stdin answers. Everything else is between the library and the fake.
"""

import asyncio
import io
import json
import logging
import sys

from telegram import (
    Bot,
    BotCommand,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.constants import ChatType, ParseMode
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError, TimedOut
from telegram.ext import ApplicationBuilder, CallbackQueryHandler, CommandHandler, MessageHandler, filters

API, TOKEN = sys.argv[1], sys.argv[2]
# What is broken on purpose need not be told.
logging.getLogger("telegram").addHandler(logging.NullHandler())
ANN, GROUP, STRANGER = 4242, -1000000000777, 9
KEYBOARD = InlineKeyboardMarkup(
    [[InlineKeyboardButton("Yes", callback_data="y")], [InlineKeyboardButton("No", callback_data="n")]]
)


def person(what, **values):
    print(json.dumps({"do": what, **values}), flush=True)
    return json.loads(sys.stdin.readline())


def connect(token=TOKEN):
    return Bot(token, base_url=f"{API}/bot", base_file_url=f"{API}/file/bot")


async def refused(kind, call, saying=""):
    try:
        result = await call
    except kind as error:
        assert type(error) is kind, f"{error!r} is not exactly {kind.__name__}"
        # The library changes the case of some.
        assert saying.lower() in str(error).lower(), f"{saying!r} is not in {error!r}"
        return error
    raise AssertionError(f"not refused, but answered {result!r}")


async def who_it_is(bot):
    me = await bot.get_me()
    assert me.is_bot and me.id == int(TOKEN.split(":")[0]) and me.username.endswith("bot"), me
    assert me.can_join_groups and me.can_read_all_group_messages is False, me


async def a_wrong_token(bot):
    await refused(InvalidToken, connect("123456:wrong").get_me())
    await refused(InvalidToken, connect("1:malformed!").get_me())
    # The library itself turns 401 at the start into this.
    await refused(InvalidToken, connect("123456:wrong").initialize())


async def text_with_entities(bot):
    sent = await bot.send_message(
        ANN,
        "😀 <b>bold</b> &amp; <pre><code class='language-sh'>rm -rf /</code></pre>",
        parse_mode=ParseMode.HTML,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
        disable_notification=True,
    )
    assert sent.text == "😀 bold & rm -rf /", sent
    bold, pre = sent.entities
    assert sent.parse_entity(bold) == "bold" and bold.type == MessageEntity.BOLD, bold
    assert sent.parse_entity(pre) == "rm -rf /" and pre.language == "sh", pre
    # What came back, sent again as it came, is the same message.
    assert (await bot.send_message(ANN, sent.text_html, parse_mode="HTML")).entities == sent.entities
    assert (await bot.send_message(ANN, sent.text, entities=sent.entities)).entities == sent.entities
    assert sent.chat.type == ChatType.PRIVATE and sent.from_user.id == bot.id
    await refused(BadRequest, bot.send_message(ANN, "<b>x", parse_mode="HTML"), "Can't parse entities")
    await refused(BadRequest, bot.send_message(ANN, "x" * 4097), "Message is too long")
    await refused(BadRequest, bot.send_message(ANN, " "), "Message text is empty")


async def replies_and_keyboards(bot):
    first = await bot.send_message(ANN, "first", reply_markup=KEYBOARD)
    assert first.reply_markup == KEYBOARD, first.reply_markup
    second = await bot.send_message(ANN, "second", reply_parameters=ReplyParameters(first.message_id))
    assert second.reply_to_message.message_id == first.message_id
    third = await bot.send_message(ANN, "third", reply_to_message_id=first.message_id, reply_markup=ForceReply())
    assert third.reply_to_message.text == "first" and third.reply_markup is None
    gone = ReplyParameters(99999)
    await refused(BadRequest, bot.send_message(ANN, "x", reply_parameters=gone), "Message to be replied not found")
    gone = ReplyParameters(99999, allow_sending_without_reply=True)
    assert (await bot.send_message(ANN, "x", reply_parameters=gone)).reply_to_message is None
    long = InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="é" * 33)]])
    await refused(BadRequest, bot.send_message(ANN, "x", reply_markup=long), "Button_data_invalid")


async def edits(bot):
    sent = await bot.send_message(ANN, "before", reply_markup=KEYBOARD)
    same = bot.edit_message_text("before", ANN, sent.message_id, reply_markup=KEYBOARD)
    await refused(BadRequest, same, "Message is not modified")
    edited = await sent.edit_text("<i>after</i>", parse_mode="HTML", reply_markup=KEYBOARD)
    assert edited.text == "after" and edited.edit_date is not None and edited.reply_markup == KEYBOARD
    edited = await sent.edit_reply_markup(None)
    assert edited.text == "after" and edited.reply_markup is None
    await refused(BadRequest, bot.edit_message_text("x", ANN, 99999), "Message to edit not found")
    theirs = person("says", user=ANN, chat=ANN, text="mine")
    await refused(BadRequest, bot.edit_message_text("x", ANN, theirs), "Message can't be edited")
    assert await sent.delete() is True
    await refused(BadRequest, bot.delete_message(ANN, sent.message_id), "Message to delete not found")


async def files(bot):
    content = io.BytesIO(b"line\r\n\r\n--more\n")
    sent = await bot.send_document(ANN, content, filename="screen.txt", caption="<b>all</b>", parse_mode="HTML")
    assert (sent.document.file_name, sent.document.file_size) == ("screen.txt", 15), sent.document
    assert sent.caption == "all" and sent.caption_entities[0].type == "bold" and sent.text is None
    assert person("file", chat=ANN, message=sent.message_id) == "line\r\n\r\n--more\n"
    again = await bot.send_document(ANN, sent.document.file_id)
    assert again.document.file_size == 15
    await refused(BadRequest, bot.send_document(ANN, "nonsense"), "Wrong file identifier")
    await refused(BadRequest, bot.edit_message_text("x", ANN, sent.message_id), "There is no text in the message to edit")


async def chats(bot):
    private, group = await bot.get_chat(ANN), await bot.get_chat(GROUP)
    assert (private.type, private.first_name) == ("private", "Ann")
    assert (group.type, group.title) == ("supergroup", "Team")
    await refused(BadRequest, bot.get_chat(1), "Chat not found")
    await refused(Forbidden, bot.send_message(STRANGER, "x"), "bot can't initiate conversation with a user")
    person("blocks", user=ANN)
    await refused(Forbidden, bot.send_message(ANN, "x"), "bot was blocked by the user")
    person("unblocks", user=ANN)
    commands = [BotCommand("status", "What waits"), BotCommand("stop", "End a session")]
    assert await bot.set_my_commands(commands) and list(await bot.get_my_commands()) == commands
    await refused(BadRequest, bot.set_my_commands([("Bad-Name", "x")]), "Bot_command_invalid")
    assert await bot.send_chat_action(ANN, "typing")
    await refused(BadRequest, bot.send_chat_action(ANN, "juggling"), "Wrong parameter action in request")


async def offsets(bot):
    await forget(bot)
    first = person("says", user=ANN, chat=ANN, text="one")
    person("says", user=ANN, chat=ANN, text="two")
    one, two = await bot.get_updates()
    assert (one.message.message_id, two.message.text) == (first, "two")
    assert two.update_id == one.update_id + 1 and two.message.from_user.id == ANN
    # Unconfirmed ones come again, confirmed ones never.
    assert [update.update_id for update in await bot.get_updates(offset=two.update_id)] == [two.update_id]
    assert await bot.get_updates(offset=two.update_id + 1) == ()
    person("advance", seconds=4)
    assert await bot.get_updates() == ()
    for text in "abc":
        person("says", user=ANN, chat=ANN, text=text)
    assert [update.message.text for update in await bot.get_updates(offset=-1)] == ["c"]
    assert [update.message.text for update in await bot.get_updates(offset=1, limit=5)] == ["c"]
    await forget(bot)
    person("raw", update={"brand_new_kind": {"a": 1}})
    person("edits", user=ANN, chat=ANN, message=first, text="one, edited")
    unknown, edited = await bot.get_updates(timeout=0, offset=2)
    assert unknown.effective_message is None and edited.edited_message.text == "one, edited", (unknown, edited)
    await forget(bot)
    await bot.get_updates(allowed_updates=["callback_query"], offset=3)
    person("says", user=ANN, chat=ANN, text="unwanted")
    person("tap", user=ANN, chat=ANN, message=first, data="x")
    (only,) = await bot.get_updates(offset=4)
    assert only.callback_query.data == "x"
    await bot.get_updates(allowed_updates=[], offset=only.update_id + 1)


async def forget(bot):
    """Confirms whatever waits."""
    await bot.delete_webhook(drop_pending_updates=True)


async def long_polls(bot):
    await forget(bot)
    began = asyncio.get_running_loop().time()
    assert await bot.get_updates(timeout=1, offset=5) == ()
    assert asyncio.get_running_loop().time() - began >= 0.9, "it did not wait"
    waiting = asyncio.create_task(bot.get_updates(timeout=40, offset=6))
    await asyncio.to_thread(person, "wait_polled")
    person("says", user=ANN, chat=ANN, text="wake up")
    (update,) = await waiting
    assert update.message.text == "wake up"
    await forget(bot)


async def one_poller(bot):
    person("advance", seconds=4)
    first = asyncio.create_task(connect().get_updates(timeout=30, offset=7))
    await asyncio.to_thread(person, "wait_polled")
    second = asyncio.create_task(connect().get_updates(timeout=30, offset=8))
    await refused(Conflict, first, "terminated by other getUpdates request; make sure that only one bot instance is running")
    person("says", user=ANN, chat=ANN, text="to the second")
    assert len(await second) == 1
    await bot.set_webhook("https://example.org/hook")
    assert (await bot.get_webhook_info()).url == "https://example.org/hook"
    person("advance", seconds=4)
    await refused(Conflict, bot.get_updates(), "can't use getUpdates method while webhook is active")
    await refused(BadRequest, bot.set_webhook("http://example.org"), "An https url must be provided for webhook")
    await forget(bot)
    assert (await bot.get_webhook_info()).url == ""


async def pace(bot):
    person("limits", strict=True)
    error = None
    for _ in range(4):
        assert error is None, "the burst is three"
        try:
            await bot.send_message(ANN, "quick")
        except RetryAfter as caught:
            error = caught
    assert error is not None and error.retry_after in range(1, 11), error
    assert person("violations") == []
    await refused(RetryAfter, bot.send_message(ANN, "too early"))
    assert len(person("violations")) == 1
    person("advance", seconds=11)
    await bot.send_message(ANN, "in time")
    person("limits", strict=False)


async def faults(bot):
    for fault, kind, saying in [
        ("502", NetworkError, "Bad Gateway"),
        ("504", NetworkError, ""),
        ("cut", TelegramError, "Invalid server response"),
        ("drop", NetworkError, "Server disconnected without sending a response"),
    ]:
        person("fails", method="sendChatAction", fault=fault)
        await refused(kind, bot.send_chat_action(ANN, "typing"), saying)
    person("fails", method="sendChatAction", fault="429")
    assert (await refused(RetryAfter, bot.send_chat_action(ANN, "typing"))).retry_after == 5
    person("advance", seconds=6)
    person("fails", method="sendMessage", fault="hang")
    await refused(TimedOut, bot.send_message(ANN, "x", read_timeout=0.5))
    person("releases")
    person("unreachable")
    await refused(NetworkError, bot.get_me())
    person("reachable")
    await bot.get_me()


async def an_application(bot):
    """The library's own loop: a command, a prompt, a tap, an answer, an edit, a reply."""
    done = asyncio.get_running_loop().create_future()
    seen = []

    async def start(update, context):
        seen.append(("start", update.effective_user.id))
        await update.message.reply_text("Delete it?", reply_markup=KEYBOARD)

    async def tapped(update, context):
        query = update.callback_query
        seen.append(("tap", query.data, query.from_user.id, query.message.chat.id, bool(query.chat_instance)))
        assert query.message.is_accessible
        assert await query.answer("Applied.", show_alert=True)
        await query.edit_message_text(f"{query.message.text} {query.data}")

    async def replied(update, context):
        seen.append(("reply", update.message.text, update.message.reply_to_message.text))
        done.set_result(None)

    application = ApplicationBuilder().token(TOKEN).base_url(f"{API}/bot").build()
    application.add_handler(CommandHandler("start", start))
    application.add_handler(CallbackQueryHandler(tapped))
    application.add_handler(MessageHandler(filters.REPLY, replied))
    async with application:
        await application.start()
        await application.updater.start_polling(timeout=20)
        await asyncio.to_thread(person, "wait_polled")
        person("starts", user=ANN)
        prompt = await asyncio.to_thread(person, "wait_message", chat=ANN, text="Delete it?")
        tap = person("taps", user=ANN, chat=ANN, message=prompt, button="No")
        shown = await asyncio.to_thread(person, "wait_tap_answer", tap=tap)
        assert shown == {"text": "Applied.", "show_alert": True}, shown
        await asyncio.to_thread(person, "wait_message", chat=ANN, text="Delete it? n")
        person("replies", user=ANN, chat=ANN, message=prompt, text="thanks")
        await asyncio.wait_for(done, 30)
        await application.updater.stop()
        await application.stop()
    assert seen == [("start", ANN), ("tap", "n", ANN, ANN, True), ("reply", "thanks", "Delete it? n")], seen


async def taps_expire(bot):
    await forget(bot)
    sent = await bot.send_message(ANN, "x", reply_markup=KEYBOARD)
    person("taps", user=ANN, chat=ANN, message=sent.message_id, button="Yes")
    (update,) = await bot.get_updates(offset=9)
    person("advance", seconds=151)
    too_late = "Query is too old and response timeout expired or query id is invalid"
    await refused(BadRequest, update.callback_query.answer("late"), too_late)
    assert await bot.get_updates(offset=10) == ()
    person("tap", user=ANN, chat=ANN, message=99999, data="forged")
    (update,) = await bot.get_updates(offset=11)
    assert not update.callback_query.message.is_accessible, update
    await refused(BadRequest, update.callback_query.answer("x" * 201), "Message_too_long")
    await forget(bot)


async def groups(bot):
    person("says", user=ANN, chat=GROUP, text="chatter among persons")
    person("says", user=ANN, chat=GROUP, text="/status")
    (update,) = await bot.get_updates(offset=12)
    assert update.message.text == "/status" and update.message.chat.type == ChatType.SUPERGROUP
    await forget(bot)


CLAIMS = [
    who_it_is, a_wrong_token, text_with_entities, replies_and_keyboards, edits, files, chats, offsets, long_polls,
    one_poller, pace, faults, an_application, taps_expire, groups,
]


async def main():
    async with connect() as bot:
        for claim in CLAIMS:
            try:
                await asyncio.wait_for(claim(bot), 60)
            except BaseException:
                print(f"in {claim.__name__}:", file=sys.stderr)
                raise
            print(json.dumps({"held": claim.__name__}), flush=True)


asyncio.run(main())
