# What every rehearsed tool has at hand. The log is the truth: when it asked, and what it read.
asks() { printf 'asks %s\n' "$EPOCHREALTIME" >>"$LAB_LOG"; }
got() { printf 'read %s %s\n' "$EPOCHREALTIME" "$1" >>"$LAB_LOG"; }
