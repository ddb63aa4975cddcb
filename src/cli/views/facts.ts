/** The pinned facts of a project as text: multisig, mint and vault account. */
import type { Limits } from '../../approval/limits.js';
import type { Facts, Pins } from '../../approval/pins.js';
import { base58Encode } from '../../values/base58.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';

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
