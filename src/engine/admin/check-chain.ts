/** Compares store and chain: the newest burns are on chain, the store lacks none, and the supply fits the recorded burns. */
import { decodeMint } from '../../chain/tokens/accounts.js';
import { KNOWN_CHECK } from '../../contract/admin.js';
import type { ProjectRecord } from '../../store/records.js';
import type { Sources } from '../deps.js';
import { unknownOf } from '../unknown-transactions.js';

const LOOKED_UP = 100;

export async function checkChain({ store, chain }: Sources) {
  const findings: Awaited<ReturnType<typeof checkLanded>>[] = [];
  for (const project of await store.read((tx) => tx.projects.list()))
    for (const check of [checkLanded, checkKnown, checkSupply])
      findings.push(await check({ store, chain }, project));
  return findings;
}

async function checkLanded({ store, chain }: Sources, project: ProjectRecord) {
  const burns = await store.read(async (tx) => {
    const { items } = await tx.burns.list({ tokenId: project.id, statuses: ['FINAL'], limit: LOOKED_UP });
    return items;
  });
  const traces = await chain.trace(burns.map((burn) => ({ ...burn, payer: project.burnWallet })));
  const missing = burns.filter((_, at) => traces[at]?.kind === 'never').map(({ signature }) => signature);
  const ok = missing.length === 0;
  const lacking = `${missing.length} of ${burns.length} burns are not on chain, first ${missing[0]}`;
  return {
    name: `landed ${project.symbol}`,
    ok,
    detail: ok ? `${burns.length} burns are on chain` : lacking,
  };
}

/** Only the chain shows that a consistent store is an older copy. */
async function checkKnown({ store, chain }: Sources, project: ProjectRecord) {
  const { lost } = await unknownOf({ store, chain }, project.id);
  // Earlier checks stored their findings as the open gap.
  const gap = await store.read((tx) => tx.gaps.open(project.id));
  const missing = [...(gap?.lost ?? []), ...lost];
  const name = KNOWN_CHECK + project.symbol;
  const [first] = missing;
  if (first === undefined) return { name, ok: true, detail: 'the store has every on-chain transaction' };
  const burned = missing.reduce((sum, one) => sum + one.burned, 0n);
  return {
    ...{ name, ok: false },
    detail: `the store lacks ${missing.length} on-chain transactions, which burned ${burned} base units, first ${first.signature}. The store is an older copy, or another program signs with the same keys`,
  };
}

async function checkSupply({ store, chain }: Sources, project: ProjectRecord) {
  const burned = await store.read((tx) => tx.rules.burned(project.id));
  const [account] = await chain.getAccounts([project.mintAddress]);
  const mint = decodeMint(account ?? null);
  const supply = mint?.supply ?? 0n;
  const name = `supply ${project.symbol}`;
  const detail = `registered ${project.supply}, burned ${burned}, on chain ${supply} base units`;
  // With a mint authority the supply can grow again, so it proves nothing.
  const isFixed = mint?.mintAuthority === null;
  const ok = !isFixed || project.supply - burned >= supply;
  return { name, ok, detail: ok ? detail : `${detail}: the chain shows fewer burns than the store` };
}
