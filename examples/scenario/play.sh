#!/usr/bin/env bash
# Plays the same story on a ledger of its own, to try things out or to test what reads the results: a token, burns from a
# spreadsheet, one batch with an airdrop, and the sums. Played again in the same directory it does nothing twice.
#   usage: play.sh [directory]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=${1:-$(mktemp -d)}
unset FLYWHEEL_API_KEY  # it would win over the key of the directory
fly() { flywheel --local --data-dir "$directory" "$@"; }

[ -e "$directory/store.db" ] || fly local init --name Story --symbol STORY --proof-type SALE --proof-type SURVEY >/dev/null
[ -e "$directory/owner.json" ] || fly local export-owner "$directory/owner.json" >/dev/null

fly burn-batch "$here/burns.csv" --column amount=Tokens --column proof.order=Order >/dev/null
fly batch run "$here/pipelines.json" --keypair "$directory/owner.json" --yes >/dev/null
fly report --by all,type --json
