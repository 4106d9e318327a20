for question in 'Press Enter to continue' '[Press Enter]' 'Hit enter' '-- More --'; do
    asks
    read -rp "$question" answer
    got "$answer"
done
printf 'Press any key to continue...\n'
asks
read -rsn1 answer
got "$answer"
