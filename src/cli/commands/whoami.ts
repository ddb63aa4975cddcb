/** `flywheel whoami`: the settings in force and where each comes from; nothing is asked over the network. */
import { Secret } from '../../values/secret.js';
import { defineCommand } from '../command.js';
import type { Setting, Settings } from '../config/settings.js';
import { fieldLines } from '../output/table.js';
import { limitFields } from '../views/profile.js';

interface Row {
  readonly value: string | number | null;
  readonly source: Setting<unknown>['source'];
}

/** A program by its command; of a keypair only that it is there. */
const keeper = ({ value, source }: Settings['signers']['operator']): Row => ({
  value: value === null ? null : 'command' in value ? value.command : 'a keypair',
  source,
});

/** Each setting with its source; of the key only that it is there. */
function describe(settings: Settings): Readonly<Record<string, Row>> {
  const { apiKey, ...rest } = settings;
  const plain = (setting: Setting<string | number | null>): Row => ({
    value: setting.value,
    source: setting.source,
  });
  return {
    target: { value: settings.apiUrl.value === null ? 'embedded' : 'remote', source: settings.apiUrl.source },
    profile: plain(rest.profile),
    apiUrl: plain(rest.apiUrl),
    apiKeyHeader: plain(rest.apiKeyHeader),
    apiKey: { value: apiKey.value === null ? null : 'set', source: apiKey.source },
    configDir: plain(rest.configDir),
    dataDir: plain(rest.dataDir),
    rpcUrl: {
      value: rest.rpcUrl.value.length === 0 ? null : rest.rpcUrl.value.join(', '),
      source: rest.rpcUrl.source,
    },
    rpcQuorum: plain(rest.rpcQuorum),
    maxPriorityFee: plain(rest.maxPriorityFee),
    commitment: plain(rest.commitment),
    blockEngine: { value: rest.blockEngine.value?.shown ?? null, source: rest.blockEngine.source },
    maxTip: plain(rest.maxTip),
    tipFloor: { value: rest.tipFloor.value.shown, source: rest.tipFloor.source },
    keypair: {
      value: rest.keypair.value instanceof Secret ? 'a key, not a file' : rest.keypair.value,
      source: rest.keypair.source,
    },
    operatorSigner: keeper(rest.signers.operator),
    burnSigner: keeper(rest.signers.burnWallet),
    timeoutSeconds: plain(rest.timeoutSeconds),
    waitSeconds: plain(rest.waitSeconds),
    maxWaitSeconds: plain(rest.maxWaitSeconds),
  };
}

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const settings = await session.context.effectiveSettings(session.settings);
    const rows = describe(settings);
    const { limits } = settings;
    session.output.result({ ...rows, limits }, (style) =>
      fieldLines(
        [
          ...Object.entries(rows).map(
            ([name, { value, source }]) => [name, `${value ?? 'none'} (${source})`] as const,
          ),
          ...limits.flatMap(({ value, source }) =>
            limitFields(value).map(([name, limit]) => [name, `${limit} (${source})`] as const),
          ),
        ],
        style,
      ),
    );
    return undefined;
  },
  details: ['The API key itself is never shown.'],
  output: [
    '{ "target": { "value": "embedded"|"remote", "source" }, "profile", "apiUrl", "apiKey", "dataDir", …,',
    '  "limits": [ { "value": { "batchTokens"?, … }, "source" } ] }',
  ],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel whoami', 'flywheel whoami --profile staging --json'],
});
