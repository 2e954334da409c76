#!/bin/sh
# From keys.txt the tables of nginx.conf; nginx's image runs this before nginx starts, and then each time a file in
# /secrets has changed, with a reload that cuts no stream. A line of keys.txt is a name and a key, or begins with #. The
# servers behind nginx get $SERVER_KEY in its place: no editor's key goes further than nginx.
# The shell does it, with tr, and writes to memory: a key is in no argument of a program, in no message and on no disk.
# nginx compares keys without regard to case, and refuses a table with one twice, with the key in its message.
set -eu
umask 077
keys=${1:-/secrets/keys.txt}
table=${2:-/run/keys.conf}
members=${table%keys.conf}members.conf

check() { # what it is, and the key
	case $2 in *[!A-Za-z0-9._~+/=-]*) ;; *) [ ${#2} -lt 32 ] || return 0 ;; esac
	echo "$1: at least 32 letters and digits are needed, as openssl rand -hex 32 makes them" >&2
	exit 1
}

make_tables() {
	check SERVER_KEY "${SERVER_KEY:-}"
	carriage=$(printf '\r')
	n_lines=0
	n_keys=0
	seen=
	: >"$members.new"
	while read -r name key || [ -n "$name" ]; do
		n_lines=$((n_lines + 1))
		key=${key%"$carriage"}
		case ${name%"$carriage"} in '' | '#'*) continue ;; *[!A-Za-z0-9._@-]*) key= ;; esac
		check "keys.txt, line $n_lines, a name and a key" "$key"
		small=$(printf %s "$key" | tr '[:upper:]' '[:lower:]')
		case $seen in *" $small "*)
			echo "keys.txt, line $n_lines: another line has this key; openssl rand -hex 32 makes one" >&2
			exit 1
			;;
		esac
		seen="$seen $small "
		n_keys=$((n_keys + 1))
		printf '"Bearer %s" "Bearer %s";\n' "$key" "$SERVER_KEY"
		printf '"Bearer %s" "%s";\n' "$key" "$name" >>"$members.new"
	done <"$keys" >"$table.new"
	[ "$n_keys" -gt 0 ] || {
		echo "keys.txt has no key: each editor needs one, as openssl rand -hex 32 makes them" >&2
		exit 1
	}
	mv "$table.new" "$table"
	mv "$members.new" "$members"
}

watch() { # one that is wrong changes nothing
	before=$(cksum "${keys%/*}"/*)
	while sleep 0.5; do
		now=$(cksum "${keys%/*}"/*)
		[ "$now" != "$before" ] || continue
		before=$now
		(make_tables) || continue
		nginx -s reload || echo "nginx does not take the changed tables: the old keys go on" >&2
	done
}

make_tables
[ $# -eq 2 ] || watch &
