draw() {
    printf '\e[H\e[2J\e[1;34m== release 1.4 ==\e[0m\r\n\r\n\e[33mPublish it now?\e[0m \e[2m(y/n)\e[0m '
}
for _ in 1 2 3 4 5; do
    draw
    sleep 0.02
done
# It goes on redrawing while it waits.
(for _ in 1 2 3 4 5 6 7 8; do
    sleep 0.1
    draw
done) &
asks
draw
read -r answer
got "$answer"
wait
