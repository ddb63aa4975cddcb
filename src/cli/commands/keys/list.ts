/** `flywheel keys list`: the API keys of a project, without the keys themselves. */
import type { ApiKeyInfo } from '../../../contract/admin.js';
import { defineCommand } from '../../command.js';
import { viewKeys } from '../../views/local.js';

const COLUMNS = ['id', 'name', 'in use here', 'scopes', 'proof types', 'created', 'ends', 'revoked'] as const;

const cells = (key: ApiKeyInfo) => [
  key.id,
  key.name ?? undefined,
  key.isInUse,
  key.scopes.join(' '),
  key.proofTypes?.join(' '),
  key.dateCreated,
  key.dateExpires ?? undefined,
  key.dateRevoked ?? undefined,
];

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const keys = await (await session.local()).listKeys();
    await session.output.list(keys, { columns: COLUMNS, cells }, (style) => viewKeys(keys, style));
    return undefined;
  },
  output: [
    '[ { "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" } ]',
  ],
  csv: COLUMNS,
  examples: ['flywheel keys list'],
});
