# Every line looks like a question; none is one.
flood() { seq -f 'line %.0f: Delete 3 files in build/? (y/n) and so on, to the end of the line' "$1"; }
# Every recogniser has been used once before memory is looked at.
flood 2000
printf 'unpacking the rest'
sleep 0.3
printf '\n'
asks
read -rp 'Start? (y/n) ' answer
got "$answer"
flood 100000
asks
read -rp 'Was that all? (y/n) ' answer
got "$answer"
