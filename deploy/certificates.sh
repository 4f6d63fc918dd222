#!/bin/sh
# Makes an authority and the certificates of a farm: server, admin, operator, client,
# compiler and device. A file that is there stays, so that a second run adds what is
# missing; remove NAME.pem for a new one. Keep ca-key.pem off the machines of the farm.
#
#   deploy/certificates.sh FOLDER [NAME OR ADDRESS OF A SERVER]...
set -eu
[ $# -ge 1 ] || { echo "usage: $0 FOLDER [SERVER]..." >&2; exit 2; }
dir=$1
shift
mkdir -p "$dir"
chmod 700 "$dir"
cd "$dir"
umask 077
days=825

names=DNS:localhost,IP:127.0.0.1
for server in nats nats-0.nats nats-1.nats nats-2.nats "$@"; do
	case $server in
	*[!0-9.:]*) names=$names,DNS:$server ;;
	*) names=$names,IP:$server ;;
	esac
done

if [ ! -e ca.pem ]; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
		-subj "/CN=tritonc farm" -addext "keyUsage=critical,keyCertSign,cRLSign" -keyout ca-key.pem -out ca.pem 2>/dev/null
fi
# one NAME SUBJECT USAGE [OTHER NAMES]
one() {
	[ ! -e "$1.pem" ] || return 0
	printf 'basicConstraints=critical,CA:FALSE\nextendedKeyUsage=%s\n' "$3" >"$1.ext"
	[ -z "${4-}" ] || printf 'subjectAltName=%s\n' "$4" >>"$1.ext"
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$1-key.pem" -out "$1.csr" 2>/dev/null
	openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days $days -extfile "$1.ext" -out "$1.pem" 2>/dev/null
	rm "$1.csr" "$1.ext"
}
one server tritonc-server serverAuth,clientAuth "$names"
for role in admin operator client compiler device; do
	one "$role" "tritonc-$role" clientAuth
done
