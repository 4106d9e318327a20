# A tool that starts a tool that starts a tool, each with its own question, one right after the other.
inner='
    asks
    read -rp "Inner: apply the migration? (y/n) " answer
    got "$answer"
'
middle='
    asks
    read -rp "Middle: name of the database: " answer
    got "$answer"
    bash --norc --noprofile -c "$inner"
    asks
    read -rp "Middle: keep the backup? (y/n) " answer
    got "$answer"
'
export inner
export -f asks got
asks
read -rp 'Outer: start? (y/n) ' answer
got "$answer"
bash --norc --noprofile -c "$middle"
asks
read -rp 'Outer: start? (y/n) ' answer
got "$answer"
