/** `flywheel local reset`: wipes the data directory, after asking. */
import { defineCommand } from '../../command.js';
import { requireConsent } from '../../consent.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const dataDir = session.settings.dataDir.value;
    await requireConsent(session, `Wipe everything in ${dataDir}?`);
    await (await session.local()).reset();
    session.output.result({ dataDir, reset: true }, (style) => [style.good(`Wiped ${dataDir}.`)]);
    return undefined;
  },
  details: ['Everything in it is lost: the ledger, the keys, the owner keypair that was made there.'],
  uses: ['service'],
  output: ['{ "dataDir": path, "reset": true }'],
  examples: ['flywheel local reset --yes'],
});
