/** Warnings about a token before registration: authorities over the tokens of vault and burn wallet. */
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM } from '../../../src/chain/programs.js';
import type { Mint, TokenAccount } from '../../../src/chain/tokens/accounts.js';
import { tokenWarnings } from '../../../src/compose/registration/plan.js';
import { namedAddress } from '../../support/oracle.js';

const stranger = namedAddress('stranger');

const account = (more: Partial<TokenAccount> = {}): TokenAccount => ({
  tokenProgram: TOKEN_2022_PROGRAM,
  mint: namedAddress('mint'),
  owner: namedAddress('wallet'),
  amount: 0n,
  delegate: null,
  delegatedAmount: 0n,
  frozen: false,
  closeAuthority: null,
  extensions: [],
  ...more,
});

interface Accounts {
  readonly vault?: TokenAccount | null;
  readonly burn?: TokenAccount | null;
  readonly opens?: number;
}

function warnings({ vault = account(), burn = account(), opens }: Accounts): readonly string[] {
  const mint: Mint = {
    tokenProgram: TOKEN_2022_PROGRAM,
    mintAuthority: null,
    supply: 0n,
    decimals: 6,
    freezeAuthority: null,
    extensions: opens === undefined ? [] : [{ name: 'defaultAccountState', data: Uint8Array.of(opens) }],
  };
  const token = { mint, vaultAccount: vault } as Parameters<typeof tokenWarnings>[0]['token'];
  const burnTokenAccount = { address: namedAddress('burn'), isThere: burn !== null, account: burn };
  return tokenWarnings({ token, burnTokenAccount });
}

describe('what is said of a token', () => {
  it('is nothing where nobody else can do anything', () => {
    expect(warnings({})).toEqual([]);
    expect(warnings({ vault: null, burn: null, opens: 1 })).toEqual([]);
  });

  it.each([
    [{ delegate: stranger }, 'vault', `The delegate ${stranger} can take tokens out of the vault.`],
    [
      { delegate: stranger },
      'burn wallet',
      `The delegate ${stranger} can take tokens out of the burn wallet.`,
    ],
    [{ frozen: true }, 'vault', 'The token account of the vault is frozen.'],
    [{ frozen: true }, 'burn wallet', 'The token account of the burn wallet is frozen.'],
  ])('names %j of the %s', (more, whose, warning) => {
    expect(warnings({ [whose === 'vault' ? 'vault' : 'burn']: account(more) })).toEqual([warning]);
  });

  it.each<Accounts>([{ vault: null }, { burn: null }])('says that accounts open frozen', (accounts) => {
    expect(warnings({ ...accounts, opens: 2 })).toEqual([expect.stringContaining('thawed')]);
    expect(warnings({ opens: 2 })).toEqual([]);
  });
});
