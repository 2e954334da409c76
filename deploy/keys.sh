#!/bin/sh
# From keys.txt the table of nginx.conf; nginx's image runs this before nginx starts. A line of keys.txt is a key, or
# begins with #. The servers behind nginx get $SERVER_KEY in its place: no editor's key goes further than nginx.
# The shell alone does it, and writes to memory: a key is in no argument of a program, in no message and on no disk.
set -eu
umask 077
keys=${1:-/keys.txt}
table=${2:-/run/keys.conf}

check() { # what it is, and the key
	case $2 in *[!A-Za-z0-9._~+/=-]*) ;; *) [ ${#2} -lt 32 ] || return 0 ;; esac
	echo "$1: at least 32 letters and digits are needed, as openssl rand -hex 32 makes them" >&2
	exit 1
}

check SERVER_KEY "${SERVER_KEY:-}"
carriage=$(printf '\r')
n_lines=0
n_keys=0
while read -r key || [ -n "$key" ]; do
	n_lines=$((n_lines + 1))
	key=${key%"$carriage"}
	case $key in '' | '#'*) continue ;; esac
	check "keys.txt, line $n_lines" "$key"
	n_keys=$((n_keys + 1))
	printf '"Bearer %s" "Bearer %s";\n' "$key" "$SERVER_KEY"
done <"$keys" >"$table"
[ "$n_keys" -gt 0 ] || {
	echo "keys.txt has no key: each editor needs one, as openssl rand -hex 32 makes them" >&2
	exit 1
}
