#!/usr/bin/env bash
# Burns for every file in SPOOL/new, and files it by what came of it. For crontab:
#   */10 * * * * FLYWHEEL_PROFILE=live /opt/flywheel/burn-spool.sh /var/spool/flywheel
# The API key is in the profile: flywheel profile add live --api-url URL --api-key-stdin < key.txt
set -euo pipefail
spool=$1
mkdir -p "$spool"/{new,done,failed,refused}

# Whoever comes while another run is busy has nothing to do.
exec 9> "$spool/lock"
flock --nonblock 9 || exit 0

log() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >> "$spool/burn.log"; }

# What an earlier run does not know the outcome of comes first.
status=0
flywheel pending resume --yes > /dev/null 2>> "$spool/burn.log" || status=$?
case $status in
  0 | 3) ;;
  6 | 7 | 8)
    log "pending: exit $status, later again"
    exit 0
    ;;
  *)
    log "pending: exit $status, somebody has to look: flywheel pending"
    exit "$status"
    ;;
esac

for file in "$spool"/new/*.json; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .json)
  status=0
  flywheel burn-batch "$file" --yes --failed-out "$spool/failed/$name.json" \
    > "$spool/done/$name.result" 2>> "$spool/burn.log" || status=$?
  log "$name: exit $status"
  case $status in
    0)
      mv "$file" "$spool/done/"
      rm -f "$spool/failed/$name.json"
      ;;
    # Some elements failed: those are in failed/, to be mended and put into new/ under another name.
    3) mv "$file" "$spool/done/" ;;
    # Nothing was sent, or all was refused: again as it is, it would be refused again.
    2 | 5) mv "$file" "$spool/refused/" ;;
    # Not available, or not known yet. The file stays; the next run looks up what came of it, and burns nothing twice.
    6 | 7 | 8) exit 0 ;;
    # The key, the approval, the program itself: more files would end in the same way.
    *) exit "$status" ;;
  esac
done
