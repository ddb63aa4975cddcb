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
  configure: (command) => command.option('--repair', 'make your files and directories private'),
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
    'With a remote API it checks each RPC node: reachable, Solana, cluster, slots behind, Squads program.',
    'It lists files that other users can read or own, and links. --repair fixes the modes of your own files and follows no link.',
    'Exits with the code of the first problem, else 0. Changes nothing without --repair.',
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
