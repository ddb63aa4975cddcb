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
  const burns = await Promise.all(
    Array.from({ length: order.listLength }, (_, position) => {
      // A limit of compute units that nobody else has makes the signature one of its own; every burn is of 1.
      const units = 100_000 + order.lane * 200_000 + list * order.listLength + position;
      return signed(chain, [treasury], [setComputeUnitLimit(units), token.burn(1n)]);
    }),
  );
  const receipt = await chain.submit(burns.map(({ bytes }) => bytes));
  const taken = burns.filter((_, index) => receipt[index] === null).map(({ signature }) => signature);
  process.stdout.write(`${taken.join(' ')}\n`);
}
await chain.close();
