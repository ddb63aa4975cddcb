/** `flywheel demo`: everything at work on the embedded engine, with commands that can be run again. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineCommand, type Session } from '../command.js';
import { wrapText } from '../output/table.js';
import { grouped, tokensText } from '../views/unit.js';

/** Of what is said of a step. */
const INDENT = '   ';

async function run(session: Session): Promise<undefined> {
  const [{ runDemo, SYMBOL }, { writeDemoFiles }] = await Promise.all([
    import('../demo/run-demo.js'),
    import('../demo/files.js'),
  ]);
  const { output } = session;
  const isHuman = output.mode === 'human';
  const { style } = output;
  const width = isHuman ? style.width : Number.POSITIVE_INFINITY;
  const tell = (text: string): void => {
    if (isHuman) output.text(`${text}\n`);
    else if (!session.settings.quiet) output.show(text);
  };
  const folder = mkdtempSync(join(tmpdir(), 'flywheel-demo-'));
  const dataDir = join(folder, 'data');
  let step = 0;
  const where = `Everything runs on this machine, in ${folder}. No network, no account.`;
  for (const line of wrapText(where, width)) tell(line);
  const report = await runDemo({
    session,
    folder,
    dataDir,
    files: writeDemoFiles(folder),
    say: (text, kind) => {
      if (kind === 'step') {
        step += 1;
        tell('');
        for (const line of wrapText(`${step}. ${text}`, width)) tell(style.bold(line));
      } else if (kind === 'command') tell(style.good(`   $ ${text}`));
      else for (const line of wrapText(text, width - INDENT.length)) tell(`${INDENT}${line}`);
    },
  });
  const { before, after } = report;
  tell('');
  const end = [
    `Burned ${grouped(before.burned)} before, ${tokensText(after.burned, SYMBOL)} after; vault ${grouped(before.vault)} before, ${tokensText(after.vault, SYMBOL)} after.`,
    `The batch ${report.batch.id} is ${report.batch.status}. The files are in ${folder}. You can run the commands above again.`,
  ];
  for (const line of end.flatMap((text) => wrapText(text, width))) tell(line);
  if (!isHuman) output.result(report, () => []);
  return undefined;
}

export const command = defineCommand({
  configure: (command) => command,
  run,
  details: ['Uses a temporary directory, and leaves everything there.'],
  uses: [],
  output: [
    '{ "folder", "dataDir", "commands", "before", "after", "batch", "result" }; progress is on standard error',
  ],
  examples: ['flywheel demo', 'flywheel demo --json'],
});
