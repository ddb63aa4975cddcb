/** What a flywheel has to work with, as people read it. */

import type { CapState } from '../../contract/admin.js';
import type { LocalVaultResult } from '../context.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { linkFields } from './links.js';
import { solText } from './local.js';

function capText({ used, cap, left }: CapState): string {
  return cap === null ? `${used} used, no cap` : `${left} of ${cap} left, ${used} used`;
}

const addresses = (value: LocalVaultResult, style: Style): readonly Field[] => [
  ...(value.cluster === null
    ? []
    : [
        [
          'cluster',
          `${value.cluster.name ?? 'a cluster of its own'} (genesis ${value.cluster.genesisHash})`,
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

/** Addresses, balances, what today's caps leave, and for how long the SOL lasts. */
export const viewVault = (value: LocalVaultResult, style: Style): readonly string[] => [
  style.bold(`${value.name} (${value.symbol})`),
  ...fieldLines(addresses(value, style), style.dim),
  '',
  ...tableLines(
    [{ title: 'account' }, { title: 'tokens', align: 'right' }, { title: 'SOL', align: 'right' }],
    [
      ['vault', value.balances.vault.tokens, solText(value.balances.vault.lamports)],
      ['burn wallet', value.balances.burnWallet.tokens, solText(value.balances.burnWallet.lamports)],
      ['operator', '', solText(value.balances.operator.lamports)],
      ['owner', '', solText(value.balances.owner.lamports)],
    ],
    style.width,
  ),
  '',
  ...fieldLines(
    [
      [`burns on ${value.today.day}`, capText(value.today.burn)],
      ['airdrops', capText(value.today.airdrop)],
      [
        'burns',
        `SOL of the burn wallet for ${value.burns.lasts}, at most ${solText(value.burns.feeLamports)} each`,
      ],
      [
        'pipelines',
        `${value.pipelines.atOnce} at once, SOL of the operator for ${value.pipelines.lasts} in all`,
      ],
      [
        '',
        `each at most ${solText(value.pipelines.feeLamports)} of fees, and ${solText(value.pipelines.rentLamports)} of rent until its batch is closed`,
      ],
      ['rent laid out', solText(value.pipelines.openRentLamports)],
    ],
    style.dim,
  ),
];
