/** `flywheel doctor`: looks whether everything that a command needs is in order. */
import { EXIT } from '../../errors/exit-codes.js';
import { defineCommand } from '../command.js';
import { safeLine } from '../output/safe-text.js';
import { indented } from '../output/table.js';

/** As wide as a mark and the blank after it. */
const BEHIND_MARK = '     ';

const marked = (mark: string, text: string, width: number): readonly string[] =>
  indented(BEHIND_MARK, text, width).map((line, at) =>
    at === 0 ? `${mark} ${line.slice(BEHIND_MARK.length)}` : line,
  );

export const command = defineCommand({
  configure: (command) => command.option('--repair', 'take files and directories of yours from others'),
  run: async (session, _args, options) => {
    const { repairFiles, runChecks } = await import('../doctor/checks.js');
    const repaired = options.repair === true ? repairFiles(session) : [];
    const findings = [...repaired, ...(await runChecks(session))];
    const checks = findings.map(({ exit: _exit, ...finding }) => finding);
    session.output.result({ ok: checks.every(({ ok }) => ok), checks }, (style) =>
      checks.flatMap(({ name, ok, detail, hint }) => [
        ...marked(ok ? style.good('ok  ') : style.bad('fail'), `${name}: ${detail}`, style.width),
        // Most end in a command, which is to be copied whole.
        ...(hint === undefined ? [] : [`${BEHIND_MARK}${safeLine(hint)}`]),
      ]),
    );
    return findings.find(({ ok }) => !ok)?.exit ?? EXIT.done;
  },
  details: [
    'In remote use each RPC node is looked at by itself: reachable, Solana, which cluster, how far behind, the Squads program.',
    'Files that others can use, that belong to others or that are links are named one by one; --repair mends modes of what is yours, and follows no link.',
    'Exits with the number of the first thing that is not in order, else 0. Without --repair nothing is changed.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "ok": true|false, "checks": [ { "name", "ok", "detail", "hint"?, "error"?, "rpc"? } ] }',
    '"rpc" of each RPC node: { "url", "source", "cluster", "genesisHash", "slot", "slotsBehind", "version", "latencyMs", "clockAheadMs" }',
  ],
  examples: [
    'flywheel doctor',
    'flywheel doctor --profile staging --json',
    'flywheel doctor --rpc-url devnet',
    'flywheel doctor --repair',
  ],
});
