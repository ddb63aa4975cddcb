/** A project with its caps, balances and local API key as text for people. */
import type { Settings } from '../../compose/settings.js';
import type { ApiKeyCreated, RegistrationPlan } from '../../contract/admin.js';
import { apiKeyFile } from '../../files/directories.js';
import type { Answer } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines, wrapText } from '../output/table.js';
import { countText, grouped, solOf, tokensText } from './unit.js';

export const clusterText = ({ name, genesisHash }: RegistrationPlan['cluster']): string =>
  `${name ?? 'another cluster'} (genesis ${genesisHash})`;

/** @param used - includes requests that may still land */
function capText(limit: string | null, used: string | undefined, symbol: string | null): string {
  const spent = used === undefined ? [] : [`${tokensText(used, symbol)} used`];
  return [limit === null ? 'no cap' : tokensText(limit, symbol), ...spent].join(', ');
}

export const registrationFields = (
  value: Omit<Answer<'init'>, 'apiKey' | 'owner'> &
    Pick<Answer<'status'>, 'owner'> & { readonly symbol?: string },
  used?: Answer<'status'>['usedToday'],
): readonly Field[] => [
  ['mint', `${value.mintAddress} (${value.tokenProgram}, ${countText(value.decimals, 'decimal')})`],
  ['multisig', value.multisig],
  ['vault', `${value.vaultAddress} (index ${value.vaultIndex})`],
  ['burn wallet', value.burnWallet],
  ['owner', value.owner.address],
  ['owner keypair', value.owner.keypair, 'whole'],
  ['operator', value.operator],
  ['project id', value.flywheelId],
  ['token id', value.tokenId],
  ['proof types', value.proofTypes.join(', ')],
  ['daily burn', capText(value.dailyLimits.burn, used?.burn, value.symbol ?? null)],
  ['daily airdrop', capText(value.dailyLimits.airdrop, used?.airdrop, value.symbol ?? null)],
];

export const keyFields = ({ id, name, scopes }: Omit<ApiKeyCreated, 'key'>): readonly Field[] => [
  ['id', id],
  ['name', name],
  ['scopes', scopes.join(', ')],
];

/** Names the file of a new key instead of the key: the output of a set-up often ends in a log. */
export const keptKey = ({ key: _, ...about }: ApiKeyCreated, { dataDir }: Settings, project?: string) => ({
  ...about,
  file: apiKeyFile(dataDir.value, project ?? null),
});

export const viewKeptKey = (
  { file, ...key }: ReturnType<typeof keptKey>,
  settings: Settings,
  style: Style,
): readonly string[] => [
  style.good('Created an API key for commands on this machine.'),
  ...fieldLines([...keyFields(key), ['stored in', file, 'whole'], ['', 'readable by this user only']], style),
  ...wrapText('Create other keys for other users:', style.width),
  `  ${commandLine(settings, 'keys', 'create')}`,
];

function leftText({ used, cap, left }: Answer<'caps'>['burn'], symbol: string | null): string {
  const spent = `${tokensText(used, symbol)} used or reserved`;
  return cap === null
    ? `${spent}, no cap`
    : `${grouped(left ?? '0')} of ${tokensText(cap, symbol)} left, ${spent}`;
}

export const capFields = ({ day, symbol, burn, airdrop }: Answer<'caps'>): readonly Field[] => [
  [`burns on ${day}`, leftText(burn, symbol)],
  ['airdrops', leftText(airdrop, symbol)],
];

export const balanceLines = (
  balances: Answer<'status'>['balances'] | Answer<'vault'>['balances'],
  order: readonly ('owner' | 'operator')[],
  style: Style,
): readonly string[] => {
  const accounts = (['vault', 'burnWallet', ...order] as const).flatMap((name) => {
    const account: { readonly tokens?: string; readonly lamports: string } | undefined = balances[name];
    return account === undefined ? [] : [{ name, ...account }];
  });
  return tableLines(
    accounts,
    {
      account: ({ name }) => (name === 'burnWallet' ? 'burn wallet' : name),
      tokens: ({ tokens }) => tokens && grouped(tokens),
      SOL: ({ lamports }) => solOf(lamports),
    },
    style.width,
    { right: ['tokens', 'SOL'] },
  );
};
