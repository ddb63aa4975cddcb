/** A project as text for people: its pinned facts, caps, balances and local API key. */

import type { Limits } from '../../approval/limits.js';
import type { Facts, Pins } from '../../approval/pins.js';
import type { RegistrationPlan } from '../../compose/registration/registrar.js';
import type { Settings } from '../../compose/settings.js';
import type { ApiKeyCreated } from '../../contract/admin.js';
import { apiKeyFile } from '../../files/directories.js';
import { base58Encode } from '../../values/bytes.js';
import { grouped } from '../../values/token-amount.js';
import type { Answer } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines, wrapText } from '../output/table.js';
import { countText, solOf, tokensText } from './unit.js';

export const clusterText = ({ name, genesisHash }: RegistrationPlan['cluster']): string =>
  `${name ?? 'another cluster'} (genesis ${genesisHash})`;

/** @param used - includes requests that may still land */
function capText(limit: string | null, used: string | undefined, symbol: string | null): string {
  const spent = used === undefined ? [] : [`${tokensText(used, symbol)} used or reserved`];
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

/** With the file of the new key, which is shown in place of the key: a screen may be recorded. */
export const keptKey = (created: ApiKeyCreated, { dataDir }: Settings, project?: string) => ({
  ...created,
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

const MINT = 'mint.';
const VAULT_ACCOUNT = 'vaultAccount.';
const ADDRESS = `${VAULT_ACCOUNT}address`;
const CLOSE_AUTHORITY = `${MINT}mintCloseAuthority`;
const MEMBER = 'member ';
const TIME_LOCK = 'timeLockSeconds';

/** `closeAuthority` → `close authority`. */
export const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Facts are stored as read from the chain: the close authority is hexadecimal, and is shown as an address. */
function factText(name: string, value: string): string {
  if (name !== CLOSE_AUTHORITY || !/^[0-9a-f]{64}$/.test(value)) return value;
  return /^0+$/.test(value) ? 'none' : base58Encode(Buffer.from(value, 'hex'));
}

export const pinnedFields = ({ facts = {}, ...pins }: Pins): readonly Field[] => [
  ['multisig', pins.multisig],
  ['owner', pins.owner],
  ['operator', pins.operator],
  ['vault index', pins.vaultIndex],
  ...multisigFields(facts),
  ...tokenFields(pins.mint, facts),
];

export const multisigFields = (facts: Facts): readonly Field[] =>
  Object.entries(facts).flatMap(([name, value]): readonly Field[] => {
    if (name.startsWith(MINT) || name.startsWith(VAULT_ACCOUNT)) return [];
    // Most terminals have no room for more beside an address.
    if (name.startsWith(MEMBER))
      return [
        ['member', name.slice(MEMBER.length)],
        ['', value],
      ];
    return name === TIME_LOCK ? [['time lock', `${value} s`]] : [[words(name), value]];
  });

export function tokenFields(mint: string, facts: Facts): readonly Field[] {
  const below = (prefix: string): readonly Field[] =>
    Object.entries(facts)
      .filter(([name]) => name.startsWith(prefix) && name !== ADDRESS)
      .map(([name, value]) => [`  ${words(name.slice(prefix.length))}`, factText(name, value)]);
  return [['mint', mint], ...below(MINT), ['vault account', facts[ADDRESS]], ...below(VAULT_ACCOUNT)];
}

export const limitFields = (limits: Limits): readonly Field[] => [
  ['tokens a batch', limits.batchTokens],
  ['tokens a day', limits.dayTokens],
  ['ask digest above', limits.digestAbove],
];

export const viewPins = (pinned: Pins, style: Style): readonly string[] => [
  style.bold('The project as it is on chain'),
  ...fieldLines(pinnedFields(pinned), style),
];
