printf 'Which database should the service use?\n  1) PostgreSQL\n  2) SQLite\n  3) None\n'
asks
read -rp 'Enter choice [1-3]: ' answer
got "$answer"
printf '\nHow shall it start?\n  a) by hand\n  b) with the system\n  c) cancel\n'
asks
read -rp 'Your choice [a-c]: ' answer
got "$answer"
