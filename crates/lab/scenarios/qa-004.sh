# Nothing on the screen says that it waits; only the kernel knows.
printf 'calibrating the sensor'
asks
read -r answer
got "$answer"
