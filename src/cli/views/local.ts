/** The flywheel of this machine, its keys and its funds as people read them. */

import type { Settings } from '../../compose/settings.js';
import type { ApiKeyCreated, ApiKeyInfo, FundResult } from '../../contract/admin.js';
import type { LocalInitResult, LocalStatusResult } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, tableLines, wrapText } from '../output/table.js';
import { countText, grouped, solOf, tokensText } from './unit.js';

/** A daily cap, and what of it is used: by what has landed, and by what still may. */
function capText(limit: string | null, used: string | undefined, symbol: string | null): string {
  const spent = used === undefined ? [] : [`${tokensText(used, symbol)} used`];
  return [limit === null ? 'no cap' : tokensText(limit, symbol), ...spent].join(', ');
}

const registrationFields = (
  value: Omit<LocalStatusResult, 'balances' | 'supply' | 'burned' | 'usedToday'>,
  used?: LocalStatusResult['usedToday'],
): readonly Field[] => [
  ['mint', `${value.mintAddress} (${value.tokenProgram}, ${countText(value.decimals, 'decimal')})`],
  ['multisig', value.multisig],
  ['vault', `${value.vaultAddress} (index ${value.vaultIndex})`],
  ['burn wallet', value.burnWallet],
  ['owner', value.owner.address],
  ...(value.owner.keypair === null ? [] : [['owner keypair', value.owner.keypair, 'whole'] as const]),
  ['operator', value.operator],
  ['flywheel', value.flywheelId],
  ['token', value.tokenId],
  ['proof types', value.proofTypes.join(', ')],
  ['daily burn', capText(value.dailyLimits.burn, used?.burn, value.symbol ?? null)],
  ['daily airdrop', capText(value.dailyLimits.airdrop, used?.airdrop, value.symbol ?? null)],
];

const keyFields = ({ id, name, scopes }: Omit<ApiKeyCreated, 'key'>): readonly Field[] => [
  ['id', id],
  ...(name === null ? [] : [['name', name] as const]),
  ['scopes', scopes.join(', ')],
];

/** A key that was just made; it is kept nowhere, only its digest. */
export const viewCreatedKey = (key: ApiKeyCreated, style: Style): readonly string[] => [
  style.good('Created an API key. It is shown only now:'),
  `  ${key.key}`,
  ...fieldLines(keyFields(key), style),
];

/** A key that was just made and stays in the data directory; it need not be seen. */
export const viewKeptKey = (key: ApiKeyCreated, settings: Settings, style: Style): readonly string[] => [
  style.good('Created an API key for the commands on this machine.'),
  ...fieldLines(
    [...keyFields(key), ['stored in', settings.dataDir.value, 'whole'], ['', 'readable by this user only']],
    style,
  ),
  ...wrapText('Create other keys for other users:', style.width),
  `  ${commandLine(settings, 'keys', 'create')}`,
];

/** A flywheel that was just set up. */
export const viewLocalInit = (
  value: LocalInitResult,
  settings: Settings,
  style: Style,
): readonly string[] => [
  style.good('The project is ready.'),
  ...fieldLines(registrationFields(value), style),
  '',
  ...viewKeptKey(value.apiKey, settings, style),
  '',
  'Next:',
  `  ${commandLine(settings, 'burn', '--type', value.proofTypes[0] ?? 'TYPE', '--proof', '{"orderId":"A-1001"}', '--amount', '1')}`,
];

/** A flywheel with its balances. */
export const viewLocalStatus = (value: LocalStatusResult, style: Style): readonly string[] => [
  ...fieldLines(
    [
      ...registrationFields(value, value.usedToday),
      ['supply', tokensText(value.supply, value.symbol ?? null)],
      ['burned', tokensText(value.burned, value.symbol ?? null)],
    ],
    style,
  ),
  '',
  ...tableLines(
    [{ title: 'account' }, { title: 'tokens', align: 'right' }, { title: 'SOL', align: 'right' }],
    [
      ['vault', grouped(value.balances.vault.tokens), solOf(value.balances.vault.lamports)],
      ['burn wallet', grouped(value.balances.burnWallet.tokens), solOf(value.balances.burnWallet.lamports)],
      ['owner', '', solOf(value.balances.owner.lamports)],
      ...(value.balances.operator === undefined
        ? []
        : [['operator', '', solOf(value.balances.operator.lamports)]]),
    ],
    style.width,
  ),
];

/** An account that was funded; its balances now. */
export const viewFund = (value: FundResult, style: Style): readonly string[] => [
  style.good(`Funded ${value.address}.`),
  ...fieldLines(
    [
      ['tokens', grouped(value.tokens)],
      ['SOL', solOf(value.lamports)],
      ['transaction', value.txHash],
    ],
    style,
  ),
];

/** A key by its name and id. */
export const keyName = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${safeLine(name)} (${id})`;

/** All keys. */
export const viewKeys = (keys: readonly ApiKeyInfo[], style: Style): readonly string[] =>
  keys.length === 0
    ? ['No API keys found.']
    : tableLines(
        [
          { title: 'id' },
          { title: 'name' },
          { title: 'scopes' },
          { title: 'proof types' },
          { title: 'created' },
          { title: 'ends' },
          { title: 'revoked' },
        ],
        keys.map((key) => [
          key.id,
          `${key.name ?? ''}${key.isInUse ? ' (used on this machine)' : ''}`.trim(),
          key.scopes.join(', '),
          key.proofTypes?.join(', ') ?? 'all',
          key.dateCreated,
          key.dateExpires ?? 'never',
          key.dateRevoked ?? 'no',
        ]),
        style.width,
      );
