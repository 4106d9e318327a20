# Printed and overwritten at once: nobody was asked.
printf 'Overwrite a.conf? (y/n) '
sleep 0.3
printf '\r\e[Ka.conf is newer, kept.\n'
# Asked, and withdrawn before anybody answered.
asks
read -rt 1.5 -p 'Deploy to staging? (y/n) ' answer
printf '\r\e[K'
asks
read -rp 'Deploy to production? (y/n) ' answer
got "$answer"
