/** A process of its own that burns on a local chain until it is done or killed; says on stdout what it was promised. */

import { setComputeUnitLimit } from '../../src/chain/compute-budget.js';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { systemClock } from '../../src/values/time.js';
import { chainOptions, signed, TestToken, treasury } from './chain.js';

/** What the parent wants burned. */
interface Order {
  readonly directory: string;
  /** Sets this process's transactions apart from those of others. */
  readonly lane: number;
  readonly lists: number;
  readonly listLength: number;
}

const order = JSON.parse(process.argv[2] ?? '') as Order;
const chain = await openLocalChain(chainOptions(order.directory, systemClock));
const token = new TestToken();
process.stdout.write('ready\n');
for (let list = 0; list < order.lists; list += 1) {
  // A limit of compute units that nobody else has makes each signature one of its own; every burn is of 1.
  const first = 100_000 + order.lane * 200_000 + list * order.listLength;
  let pending = Array.from({ length: order.listLength }, (_, position) => first + position);
  while (pending.length > 0) {
    const burns = await Promise.all(
      pending.map((units) => signed(chain, [treasury], [setComputeUnitLimit(units), token.burn(1n)])),
    );
    const receipt = await chain.submit(burns.map(({ bytes }) => bytes));
    const taken = burns.filter((_, index) => receipt[index] === null).map(({ signature }) => signature);
    process.stdout.write(`${taken.join(' ')}\n`);
    // The other process may have made so many blocks meanwhile that a blockhash is too old: signed anew.
    pending = pending.filter((_, index) => receipt[index] !== null);
  }
}
await chain.close();
