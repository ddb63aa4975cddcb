/** Token names from the metadata extension and from Metaplex, and symbols that must not follow an amount. */
import { PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { METADATA_PROGRAM } from '../../../../src/chain/programs.js';
import { metadataAddress, symbolOf } from '../../../../src/chain/tokens/accounts.js';
import type { Address } from '../../../../src/values/address.js';
import { plainSymbol } from '../../../../src/values/token-amount.js';
import { namedAddress } from '../../../support/oracle.js';

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const texts = (name: string, symbol: string): Buffer =>
  Buffer.concat([text(name), text(symbol), text('uri')]);
const extension = (data: Buffer, name: 'tokenMetadata' | 'transferFeeConfig' = 'tokenMetadata') => ({
  extensions: [{ name, data }],
});
const own = (symbol: string) => extension(Buffer.concat([Buffer.alloc(64), texts('Name', symbol)]));
const metaplex = (symbol: string, { owner = METADATA_PROGRAM, kind = 4 } = {}) => ({
  ...{ lamports: 1n, executable: false, owner },
  data: Buffer.concat([Buffer.of(kind), Buffer.alloc(64), texts('Name\0\0\0', symbol)]),
});
const none = { extensions: [] };

describe('the symbol of a mint', () => {
  it('is that of its extension, whatever Metaplex says', () => {
    expect(symbolOf(own('FLY'), metaplex('OTHER'))).toBe('FLY');
    expect(symbolOf(own('not one'), metaplex('OTHER'))).toBeNull();
  });

  it('is else that of Metaplex, without the zeros that fill it up', () => {
    expect(symbolOf(none, metaplex('FLY\0\0\0\0\0\0\0'))).toBe('FLY');
    expect(symbolOf(extension(Buffer.alloc(200), 'transferFeeConfig'), metaplex('FLY'))).toBe('FLY');
  });

  it.each([
    ['there is no account', null],
    ['the account is of another program', metaplex('FLY', { owner: namedAddress('a program') as Address })],
    ['the account is of another kind', metaplex('FLY', { kind: 6 })],
    ['the account ends too early', { ...metaplex('FLY'), data: metaplex('FLY').data.subarray(0, 75) }],
  ])('is none where %s', (_what, account) => {
    expect(symbolOf(none, account)).toBeNull();
  });

  it('is none where a length runs over the end', () => {
    const data = Buffer.concat([Buffer.alloc(64), text('Name'), Buffer.of(255, 255, 255, 255)]);
    expect(symbolOf(extension(data), null)).toBeNull();
    expect(symbolOf(extension(Buffer.alloc(10)), null)).toBeNull();
  });

  it('lies at the address that Metaplex derives', () => {
    const mint = namedAddress('mint');
    const program = new PublicKey(METADATA_PROGRAM);
    const seeds = [Buffer.from('metadata'), program.toBuffer(), new PublicKey(mint).toBuffer()];
    expect(metadataAddress(mint)).toBe(PublicKey.findProgramAddressSync(seeds, program)[0].toBase58());
  });
});

describe('what may stand behind an amount', () => {
  it.each(['FLY', '$FLY', 'wSOL', 'a.b-c_d', 'ДОМ'])('%s', (symbol) => {
    expect(plainSymbol(symbol)).toBe(symbol);
  });

  it.each([
    '',
    '000X',
    '5',
    '.5',
    '$',
    '$5',
    'A B',
    'A\u202eB',
    'A\n',
    'A'.repeat(17),
    '-1FLY',
    '\u3164',
    'A\u115f',
  ])('is not %j', (symbol) => {
    expect(plainSymbol(symbol)).toBeNull();
  });
});
