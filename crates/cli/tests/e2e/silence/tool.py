# A tool that asks, and seems to ask, in random ways, and logs what it read for which question.
#
# usage: tool.py SEED STEPS LOG
import json, os, random, select, signal, sys, termios, time, tty

seed, steps, log = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "w", buffering=1)
dice = random.Random(seed)
cooked = termios.tcgetattr(0)


class Enough(Exception):
    pass


def enough(*_):
    raise Enough


signal.signal(signal.SIGALRM, enough)


def say(text):
    os.write(1, text.replace("\n", "\r\n").encode() if raw_now else text.encode())


def mode(raw):
    global raw_now
    raw_now = raw
    # TCSANOW: what was typed before stays in the queue, as with most programs.
    settings = termios.tcgetattr(0)
    if raw:
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        settings[1] &= ~termios.OPOST
    else:
        settings = [list(part) if isinstance(part, list) else part for part in cooked]
    termios.tcsetattr(0, termios.TCSANOW, settings)


raw_now = False


def patient(read, seconds):
    """What is read until it is enough, or until the tool loses its patience. An answer that is there at that moment was
    given while the tool waited: it counts for this question, and not for the next."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return read()
    except Enough:
        return os.read(0, 4096) if select.select([0], [], [], 0)[0] else None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def polled():
    select.select([0], [], [])
    return os.read(0, 4096)


def blocked():
    return os.read(0, 4096)


# Near the deadline of one second, long before, or long after.
def patience():
    return dice.choice([0.3, 0.9, 1.0, 1.1, 1.3, 2.0, 4.0, 4.0, 4.0])


def line(form, question, safe):
    mode(False)
    say(question)
    got = patient(blocked, patience())
    if got is None:
        say("\n")
    return {"form": form, "read": (got or b"").decode("latin-1"), "safe": ["", safe]}


def single_key():
    mode(True)
    say(f"Overwrite file {dice.randrange(1000)}? (y/n) ")
    got = patient(dice.choice([blocked, polled]), patience())
    say("\n")
    return {"form": "single_key", "read": (got or b"").decode("latin-1"), "safe": ["", "n", "n\r"]}


def menu():
    """Moved by arrows; two that come within 120 ms of each other are one, and so it may lose any."""
    mode(True)
    rows = ["Yes, continue", "Yes, always", "No, stop"][dice.randrange(2):]
    number, marked, last, strange = dice.randrange(1000), 0, 0.0, []
    loses = dice.random() < 0.5

    def draw(first):
        if not first:
            say(f"\x1b[{len(rows)}A\r")
        for row, label in enumerate(rows):
            say(f"\x1b[2K{'❯' if row == marked else ' '} {label}\n")

    say(f"? Run command {number}?\n")
    draw(True)
    read = dice.choice([blocked, polled])
    until, chosen = time.monotonic() + patience(), None
    while chosen is None and time.monotonic() < until:
        keys = patient(read, max(0.01, until - time.monotonic()))
        if keys is None:
            break
        arrows = keys.count(b"\x1b[B") - keys.count(b"\x1b[A")
        rest = keys.replace(b"\x1b[B", b"").replace(b"\x1b[A", b"")
        if arrows and not (loses and time.monotonic() - last < 0.12):
            if not (loses and dice.random() < 0.1):
                marked = max(0, min(len(rows) - 1, marked + (1 if arrows > 0 else -1)))
            draw(False)
        last = time.monotonic()
        if b"\r" in rest or b"\n" in rest:
            chosen = rows[marked]
        strange += [key for key in rest.decode("latin-1") if key not in "\r\n"]
    say("done\n")
    return {"form": "menu", "read": chosen or "", "safe": ["", "No, stop"], "strange": "".join(strange)}


def seems_to_ask():
    """Looks like a question, and reads nothing."""
    mode(dice.random() < 0.7)
    say(
        dice.choice(
            [
                "Backup runs. Press Enter to continue later",
                "Waiting for approval of job 7? (y/n) ",
                "Name of the release: ",
                "? Run it?\n❯ Yes\n  No\n",
                " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel",
                "-- More --",
                "working: ",
            ]
        )
    )
    if dice.random() < 0.4:
        # An event loop that listens, and is called away by what it hears.
        select.select([0], [], [], patience())
        time.sleep(0.7)
    time.sleep(patience() / 2)
    say("\n")
    return None


forms = [
    lambda: line("letter", f"Delete {dice.randrange(1000)} files? [Y/n] ", "n\n"),
    lambda: line("word", f"Drop table {dice.randrange(1000)}? (yes/no) ", "no\n"),
    lambda: line("enter", f"Step {dice.randrange(1000)} done. Press Enter to continue", "\n"),
    lambda: line("text", f"Enter commit message {dice.randrange(1000)}: ", "\n"),
    single_key,
    menu,
    menu,
    seems_to_ask,
    seems_to_ask,
    seems_to_ask,
]
for step in range(steps):
    told = dice.choice(forms)()
    if told:
        log.write(json.dumps({"step": step, **told}) + "\n")
mode(True)
say("the end\n")
left = patient(blocked, 0.5)
log.write(json.dumps({"step": steps, "form": "end", "read": (left or b"").decode("latin-1"), "safe": [""]}) + "\n")
termios.tcsetattr(0, termios.TCSANOW, cooked)
