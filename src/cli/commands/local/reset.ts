/** `flywheel local reset`: wipes the data directory, after asking. */
import { defineCommand } from '../../command.js';
import { requireConsent } from '../../consent.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const dataDir = session.settings.dataDir.value;
    await requireConsent(session, `Delete everything in ${dataDir}?`);
    await (await session.local()).reset();
    session.output.result({ dataDir, reset: true }, (style) => [style.good(`Deleted ${dataDir}.`)]);
    return undefined;
  },
  details: ["Deletes the ledger, all keys, and the owner's keypair if it was created there."],
  uses: ['service'],
  output: ['{ "dataDir": path, "reset": true }'],
  examples: ['flywheel local reset --yes'],
});
