/** The flywheel of this machine, its keys and its funds as people read them. */
import type { ApiKeyCreated, ApiKeyInfo, FundResult } from '../../contract/admin.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { LocalInitResult, LocalStatusResult } from '../context.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';

/** Decimals of SOL. */
const SOL_DECIMALS = 9;

/** Lamports as SOL. */
export const solText = (lamports: string): string =>
  `${formatTokenAmount(BigInt(lamports), SOL_DECIMALS)} SOL`;

const cap = (limit: string | null): string => (limit === null ? 'no cap' : `${limit} a day`);

const registrationFields = (
  value: Omit<LocalStatusResult, 'balances' | 'supply' | 'burned' | 'usedToday'>,
): readonly Field[] => [
  ['mint', `${value.mintAddress} (${value.tokenProgram}, ${value.decimals} decimals)`],
  ['multisig', value.multisig],
  ['vault', `${value.vaultAddress} (index ${value.vaultIndex})`],
  ['burn wallet', value.burnWallet],
  ['owner', value.owner.address],
  ...(value.owner.keypair === null ? [] : [['owner keypair', value.owner.keypair] as const]),
  ['operator', value.operator],
  ['flywheel', value.flywheelId],
  ['token', value.tokenId],
  ['proof types', value.proofTypes.join(', ')],
  ['daily burn', cap(value.dailyLimits.burn)],
  ['daily airdrop', cap(value.dailyLimits.airdrop)],
];

/** A key that was just made. */
export const viewCreatedKey = (key: ApiKeyCreated, style: Style): readonly string[] => [
  style.good('Made an API key. It is shown this once:'),
  `  ${key.key}`,
  ...fieldLines(
    [
      ['id', key.id],
      ['scopes', key.scopes.join(', ')],
    ],
    style.dim,
  ),
];

/** A flywheel that was just set up. */
export const viewLocalInit = (value: LocalInitResult, style: Style): readonly string[] => [
  style.good('The flywheel is set up.'),
  ...fieldLines(registrationFields(value), style.dim),
  ...viewCreatedKey(value.apiKey, style),
  'Commands on this machine use the key by themselves. Next:',
  `  flywheel burn --type ${value.proofTypes[0] ?? 'TYPE'} --proof '{"orderId":"A-1001"}' --amount 1`,
];

/** A flywheel with its balances. */
export const viewLocalStatus = (value: LocalStatusResult, style: Style): readonly string[] => [
  ...fieldLines(registrationFields(value), style.dim),
  ...fieldLines(
    [
      ['supply', value.supply],
      ['burned', value.burned],
      ['burned today', value.usedToday.burn],
      ['airdropped today', value.usedToday.airdrop],
    ],
    style.dim,
  ),
  ...tableLines(
    [{ title: 'account' }, { title: 'tokens', align: 'right' }, { title: 'SOL', align: 'right' }],
    [
      ['vault', value.balances.vault.tokens, solText(value.balances.vault.lamports)],
      ['burn wallet', value.balances.burnWallet.tokens, solText(value.balances.burnWallet.lamports)],
      ['owner', '', solText(value.balances.owner.lamports)],
      ...(value.balances.operator === undefined
        ? []
        : [['operator', '', solText(value.balances.operator.lamports)]]),
    ],
    style.width,
  ),
];

/** An account that was funded; its balances now. */
export const viewFund = (value: FundResult, style: Style): readonly string[] => [
  style.good(`Funded ${value.address}.`),
  ...fieldLines(
    [
      ['tokens', value.tokens],
      ['SOL', solText(value.lamports)],
      ['transaction', value.txHash],
    ],
    style.dim,
  ),
];

/** All keys. */
export const viewKeys = (keys: readonly ApiKeyInfo[], style: Style): readonly string[] =>
  keys.length === 0
    ? ['There is no API key.']
    : tableLines(
        [
          { title: 'id' },
          { title: 'scopes' },
          { title: 'proof types' },
          { title: 'created' },
          { title: 'revoked' },
        ],
        keys.map((key) => [
          key.id,
          key.scopes.join(', '),
          key.proofTypes?.join(', ') ?? 'all',
          key.dateCreated,
          key.dateRevoked ?? 'no',
        ]),
        style.width,
      );
