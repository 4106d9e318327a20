asks
read -rp 'Note: ' answer
got "$answer"
# What was typed stands on the screen twice, and looks like a question.
printf 'noted: %s' "$answer"
sleep 1
printf '\n'
asks
read -rp 'Note: ' answer
got "$answer"
printf 'noted: %s' "$answer"
sleep 1
