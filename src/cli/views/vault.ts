/** What a flywheel has to work with, as people read it. */

import type { CapState, Caps } from '../../contract/admin.js';
import type { LocalVaultResult } from '../context.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { linkFields } from './links.js';
import { countText, grouped, solOf, solText, tokensText } from './unit.js';

function capText({ used, cap, left }: CapState, symbol: string | null): string {
  const spent = `${tokensText(used, symbol)} used`;
  return cap === null
    ? `${spent}, no cap`
    : `${grouped(left ?? '0')} of ${tokensText(cap, symbol)} left, ${spent}`;
}

const addresses = (value: LocalVaultResult, style: Style): readonly Field[] => [
  ...(value.cluster === null
    ? []
    : [
        [
          'cluster',
          `${value.cluster.name ?? 'another cluster'} (genesis ${value.cluster.genesisHash})`,
        ] as const,
      ]),
  ['mint', value.mintAddress],
  ['multisig', value.multisig],
  ...linkFields(style, 'address', value.multisig),
  ['vault', `${value.vaultAddress} (index ${value.vaultIndex})`],
  ['  its tokens', value.vaultTokenAccount],
  ...linkFields(style, 'address', value.vaultAddress),
  ['burn wallet', value.burnWallet],
  ['  its tokens', value.burnTokenAccount],
  ...linkFields(style, 'address', value.burnWallet),
  ['operator', value.operator],
  ...linkFields(style, 'address', value.operator),
  ['owner', value.owner],
];

const capFields = ({ day, burn, airdrop }: Caps, symbol: string | null): readonly Field[] => [
  [`burns on ${day}`, capText(burn, symbol)],
  ['airdrops', capText(airdrop, symbol)],
];

/** The daily caps and what they leave. */
export const viewCaps = (caps: Caps, style: Style): readonly string[] =>
  fieldLines(capFields(caps, null), style);

/** Addresses, balances, what today's caps leave, and for how long the SOL lasts. */
export const viewVault = (value: LocalVaultResult, style: Style): readonly string[] => [
  style.bold(`${value.name} (${value.symbol})`),
  ...fieldLines(addresses(value, style), style),
  '',
  ...tableLines(
    [{ title: 'account' }, { title: 'tokens', align: 'right' }, { title: 'SOL', align: 'right' }],
    [
      ['vault', grouped(value.balances.vault.tokens), solOf(value.balances.vault.lamports)],
      ['burn wallet', grouped(value.balances.burnWallet.tokens), solOf(value.balances.burnWallet.lamports)],
      ['operator', '', solOf(value.balances.operator.lamports)],
      ['owner', '', solOf(value.balances.owner.lamports)],
    ],
    style.width,
  ),
  '',
  ...fieldLines(
    [
      ...capFields(value.today, value.symbol),
      [
        'burn fees',
        `SOL of the burn wallet covers ${countText(Number(value.burns.lasts), 'burn')} (at most ${solText(value.burns.feeLamports)} each)`,
      ],
      [
        'pipelines',
        `SOL covers ${grouped(value.pipelines.lasts)} with a new recipient each, ${grouped(value.pipelines.atOnce)} at once`,
      ],
      [
        '',
        `the operator pays at most ${solText(value.pipelines.feeLamports)} of fees each, and ${solText(value.pipelines.rentLamports)} of rent until the batch is closed`,
      ],
      [
        '',
        `the vault pays ${solText(value.pipelines.vaultRentLamports)} of rent for the token account of a new recipient`,
      ],
      ['rent in open batches', solText(value.pipelines.openRentLamports)],
    ],
    style,
  ),
];
