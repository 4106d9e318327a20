for question in 'Delete 3 files? (y/n) ' 'Go on? [Y/n] ' 'Overwrite? [y/N] ' 'Trust this host? (yes/no) ' 'Enter y or n: '; do
    asks
    read -rp "$question" answer
    got "$answer"
done
asks
read -rsn1 -p 'Press y to continue ' answer
got "$answer"
printf '\n'
