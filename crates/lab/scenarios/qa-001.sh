printf 'Delete 3 fi'
sleep 0.3
printf 'les in build/? (y/'
sleep 0.3
asks
read -rp 'n) ' answer
got "$answer"
