asks
read -rp 'Enter name (max 20 chars): ' answer
got "$answer"
asks
read -rp 'Enter commit message: ' answer
got "$answer"
