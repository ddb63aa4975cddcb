import { PublicKey } from '@solana/web3.js';
import { accounts as squads } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { localGenesis } from '../../../../../src/chain/local/ledger/genesis.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../../../../src/chain/programs.js';
import { namedSigner } from '../../../../support/chain.js';

describe('localGenesis', () => {
  const treasury = namedSigner('treasury').address;
  const [wallet, config] = localGenesis(treasury);

  it('gives the treasury 500,000,000 SOL', () => {
    expect(wallet?.[0]).toBe(treasury);
    expect(wallet?.[1]).toMatchObject({ lamports: 500_000_000_000_000_000n, owner: SYSTEM_PROGRAM });
  });

  it("puts a configuration that Squads' own library reads where it looks for it", () => {
    const [address] = PublicKey.findProgramAddressSync(
      [Buffer.from('multisig'), Buffer.from('program_config')],
      new PublicKey(SQUADS_PROGRAM),
    );
    expect(config?.[0]).toBe(address.toBase58());
    expect(config?.[1]).toMatchObject({ lamports: (128n + 144n) * 6_960n, owner: SQUADS_PROGRAM });
    const data = Buffer.from(config?.[1].data ?? []);
    expect(data).toHaveLength(144);
    const [read] = squads.ProgramConfig.deserialize(data);
    expect(read.authority.toBase58()).toBe(treasury);
    expect(read.treasury.toBase58()).toBe(treasury);
    expect(String(read.multisigCreationFee)).toBe('0');
  });
});
