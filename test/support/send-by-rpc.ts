/** Sends tokens and SOL of a mint's creator through a node, as a project's owner does with any wallet. */
import { TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { transfer } from '../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import { transferChecked } from '../../src/chain/tokens/instructions.js';
import { address } from '../../src/values/address.js';
import { systemClock } from '../../src/values/time.js';
import { signedWith, type TestToken, TOKEN_DECIMALS, treasury } from './chain.js';
import { rpcChain } from './rpc-chain.js';

const UNIT = 10n ** BigInt(TOKEN_DECIMALS);
const PATIENCE_MS = 60_000;

interface Sent {
  readonly to: string;
  readonly tokens: bigint;
  readonly lamports: bigint;
}

/** Waits until the transaction landed. @throws if it did not land. */
export async function sendByRpc(
  url: string,
  { mint, account }: Pick<TestToken, 'mint' | 'account'>,
  { to, tokens, lamports }: Sent,
): Promise<void> {
  const { chain, sender } = rpcChain([url]);
  const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
  const owner = treasury.address;
  const { bytes } = signedWith(
    blockhash,
    [treasury],
    [
      transfer({ from: owner, to: address(to), lamports }),
      transferChecked({
        ...{ mint, owner, tokenProgram: TOKEN_PROGRAM, decimals: TOKEN_DECIMALS, amount: tokens * UNIT },
        from: account,
        to: associatedTokenAddress(address(to), mint, TOKEN_PROGRAM),
      }),
    ],
  );
  const deadlineMs = systemClock.nowMs() + PATIENCE_MS;
  const sent = await sender(bytes, { lastValidBlockHeight, deadlineMs });
  if (sent.kind !== 'landed' || sent.record.error !== null)
    throw new TypeError(`What was sent to ${to} has not landed: ${sent.kind}.`);
}
