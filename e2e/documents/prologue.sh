# Copyright The targetgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Goes before the commands of a document. It lets none fail silently, not even in the middle of a pipe, and stands for
# what there is not.

failed() { echo "$* failed" >>"$FAILURES"; }

# There is neither a metrics server nor cert-manager.
kubectl() {
	case "${1-} ${2-}" in
	"top pods" | "get certificate") ;;
	*) command kubectl "$@" || failed kubectl "$@" ;;
	esac
}

# Helm 3, which the documents begin with, does not have the flag that Helm 4 wants with --take-ownership.
helm() {
	case "$*" in
	*--take-ownership*) set -- "$@" --force-conflicts ;;
	esac
	command helm "$@" || failed helm "$@"
}

# Finding nothing is no failure, and the answer to grep -q.
grep() {
	command grep "$@" || case "$? $1" in
	"1 -q") return 1 ;;
	"1 "*) ;;
	*) failed grep "$@" ;;
	esac
}

base64() { command base64 "$@" || failed base64 "$@"; }

# make and go would run this very test again.
make() { :; }
go() { :; }
aws() { :; }
docker() { :; }
eksctl() { :; }
curl() { :; }
openssl() { cat >/dev/null; }
