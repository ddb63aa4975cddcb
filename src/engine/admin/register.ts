/** Registration and funding on a local chain (contract, section 2.7). */
import { rentExemptLamports } from '../../chain/account.js';
import type { Chain } from '../../chain/chain.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import { createAccount, transfer } from '../../chain/small-programs.js';
import { associatedTokenAddress, multisigAddress } from '../../chain/squads/addresses.js';
import { multisigCreateV2 } from '../../chain/squads/builders.js';
import { decodeTokenAccount, MINT_SIZE_BYTES } from '../../chain/tokens/accounts.js';
import {
  createAssociatedTokenAccountIdempotent,
  initializeMint2,
  mintToChecked,
  removeMintAuthority,
  transferChecked,
} from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { createKeypairSigner, generateKeypair, type Signer, sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { FundInput, RegisterInput } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { ProjectRecord } from '../../store/records.js';
import { type Address, address } from '../../values/address.js';
import { formatTokenAmount, parseTokenAmount, SOL_DECIMALS, shownSymbol } from '../../values/token-amount.js';
import type { EngineDeps } from '../deps.js';
import { refused } from '../settle.js';
import { insertProject, projectRecord, registeredMultisig } from './project.js';

const VAULT_INDEX = 0;
const OPERATOR_LAMPORTS = 20_000_000_000n;
const OWNER_LAMPORTS = 1_000_000_000n;

/**
 * Registers a project: one bundle on chain, then one store transaction. No intent is stored, because nothing needs recovery: each
 * call generates its accounts, and until the store transaction no request names them. A crash in between costs only SOL of the
 * local treasury. The keys are in the keyring before anything is sent.
 * @throws `ERR_INVALID_REQUEST` for amounts that the token cannot represent or that exceed its supply.
 */
export async function registerProject(deps: EngineDeps, input: RegisterInput) {
  const amounts = checkAmounts(input);
  const treasury = requireTreasury(deps);
  const mint = createKeypairSigner(generateKeypair());
  const createKey = createKeypairSigner(generateKeypair());
  const burnWallet = deps.keyring.create();
  const operator = deps.keyring.create();
  const { minOperatorSol = null, maxBatchRent = null } = input;
  const source = {
    ...{ name: null, tokenName: input.name, symbol: input.symbol },
    ...{ mintAddress: mint.address, decimals: input.decimals },
    ...{ tokenProgram: input.tokenProgram, generation: input.tokenGeneration, supply: amounts.supply },
    multisig: multisigAddress(createKey.address).address,
    ...{ vaultIndex: VAULT_INDEX, owner: address(input.owner), proofTypes: input.proofTypes },
    ...{ burnWallet: burnWallet.address, operator: operator.address },
    ...{ dailyBurnCap: amounts.dailyBurnCap, dailyAirdropCap: amounts.dailyAirdropCap },
    ...{ minOperatorSol, maxBatchRent },
  };
  const project = projectRecord(deps, source, deps.store.latestMs());
  const from = treasury.address;
  const landed = await landWhole(deps.chain, treasury, [
    { instructions: fundWallets(from, project, amounts) },
    { instructions: createMint(from, project, amounts), signer: mint },
    {
      instructions: [
        multisigCreateV2({
          ...{ createKey: createKey.address, creator: from, treasury: from },
          ...{ ...registeredMultisig(project), configAuthority: null },
        }),
      ],
      signer: createKey,
    },
  ]);
  if ('refusal' in landed)
    throw new FlywheelError('ERR_INTERNAL', `The registration failed on chain: ${landed.refusal}.`);
  return deps.store.transaction((tx) => insertProject(deps, tx, project, input.scopes));
}

/** @throws `ERR_UNAVAILABLE` when the chain is not local. */
function requireTreasury(deps: EngineDeps): Signer {
  if (deps.treasury !== null) return deps.keyring.get(deps.treasury, 'treasury');
  throw new FlywheelError('ERR_UNAVAILABLE', 'Test tokens exist on the embedded ledger only.');
}

function checkAmounts(input: RegisterInput) {
  const amountOf = (text: string, decimals: number): bigint =>
    /^0+(\.0+)?$/.test(text) ? 0n : parseTokenAmount(text, decimals);
  const tokens = (text: string): bigint => amountOf(text, input.decimals);
  const amounts = {
    supply: parseTokenAmount(input.supply, input.decimals),
    vault: tokens(input.vaultTokens),
    burnWallet: tokens(input.burnWalletTokens),
    vaultLamports: amountOf(input.vaultSol, SOL_DECIMALS),
    burnWalletLamports: amountOf(input.burnWalletSol, SOL_DECIMALS),
    dailyBurnCap: input.dailyBurn === null ? null : tokens(input.dailyBurn),
    dailyAirdropCap: input.dailyAirdrop === null ? null : tokens(input.dailyAirdrop),
  };
  if (amounts.vault + amounts.burnWallet > amounts.supply) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `Vault and burn wallet together would get more than the supply of ${input.supply} ${shownSymbol(input.symbol) ?? 'tokens'}.`,
    );
  }
  for (const [name, value] of [
    ['vault', amounts.vaultLamports],
    ['burn wallet', amounts.burnWalletLamports],
  ] as const)
    if (value > 0n && value < rentExemptLamports(0))
      throw new FlywheelError(
        'ERR_INVALID_REQUEST',
        `The ${name} needs 0 SOL, or at least 0.00089088 SOL (rent exemption).`,
      );
  return amounts;
}

type Amounts = ReturnType<typeof checkAmounts>;

const fundWallets = (
  from: Address,
  project: ProjectRecord,
  { burnWalletLamports, vaultLamports }: Amounts,
): readonly Instruction[] =>
  [
    { to: project.burnWallet, lamports: burnWalletLamports },
    { to: project.vault, lamports: vaultLamports },
    { to: project.operator, lamports: OPERATOR_LAMPORTS },
    { to: project.owner, lamports: OWNER_LAMPORTS },
  ].flatMap((share) => (share.lamports > 0n ? transfer({ from, ...share }) : []));

function createMint(
  treasury: Address,
  project: ProjectRecord,
  { supply, burnWallet, vault }: Amounts,
): readonly Instruction[] {
  const { mintAddress: mint, decimals } = project;
  const tokenProgram = tokenProgramAddress(project.tokenProgram);
  const shares = [
    { owner: project.burnWallet, amount: burnWallet },
    { owner: project.vault, amount: vault },
    { owner: treasury, amount: supply - burnWallet - vault },
  ];
  const common = { mint, tokenProgram };
  return [
    createAccount({
      ...{ from: treasury, account: mint, owner: tokenProgram },
      ...{ lamports: rentExemptLamports(MINT_SIZE_BYTES), sizeBytes: MINT_SIZE_BYTES },
    }),
    initializeMint2({ ...common, decimals, mintAuthority: treasury, freezeAuthority: null }),
    ...shares.map(({ owner }) =>
      createAssociatedTokenAccountIdempotent({ ...common, payer: treasury, owner }),
    ),
    ...shares.flatMap(({ owner, amount }) => {
      const to = associatedTokenAddress(owner, mint, tokenProgram);
      return amount > 0n ? mintToChecked({ ...common, to, authority: treasury, amount, decimals }) : [];
    }),
    removeMintAuthority({ tokenProgram, mint, mintAuthority: treasury }),
  ];
}

/**
 * Sends tokens, SOL or both in one transaction. No intent is stored: there is no idempotency key, nothing is reserved, and a
 * local chain decides at submission, so a crash leaves no transaction that lands later.
 * @throws `ERR_INVALID_REQUEST` without tokens and SOL; `ERR_INSUFFICIENT_FUNDS` when the treasury has too little.
 */
export async function fund(deps: EngineDeps, project: ProjectRecord, input: FundInput) {
  const treasury = requireTreasury(deps);
  const amount = input.tokens === undefined ? 0n : parseTokenAmount(input.tokens, project.decimals);
  const lamports = input.sol === undefined ? 0n : parseTokenAmount(input.sol, SOL_DECIMALS);
  if (amount === 0n && lamports === 0n) {
    throw new FlywheelError('ERR_INVALID_REQUEST', 'No amount was given.', {
      hint: 'Add --tokens, --sol or both.',
    });
  }
  const named: Readonly<Record<string, Address>> = {
    ...{ vault: project.vault, 'burn-wallet': project.burnWallet },
    ...{ owner: project.owner, operator: project.operator },
  };
  const wallet = named[input.to] ?? address(input.to);
  const { mintAddress: mint, decimals } = project;
  const tokenProgram = tokenProgramAddress(project.tokenProgram);
  const [from, to] = [treasury.address, wallet].map((owner) =>
    associatedTokenAddress(owner, mint, tokenProgram),
  ) as [Address, Address];
  const payer = treasury.address;
  const instructions: readonly Instruction[] = [
    ...(lamports > 0n ? [transfer({ from: payer, to: wallet, lamports })] : []),
    ...(amount > 0n
      ? [
          createAssociatedTokenAccountIdempotent({ payer, owner: wallet, mint, tokenProgram }),
          transferChecked({ mint, tokenProgram, decimals, amount, from, to, owner: payer }),
        ]
      : []),
  ];
  const landed = await landWhole(deps.chain, treasury, [{ instructions }]);
  if ('refusal' in landed) {
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The treasury ${payer} cannot send this: ${landed.refusal}.`,
    );
  }
  const [account, holding] = await deps.chain.getAccounts([wallet, to]);
  return {
    address: wallet as string,
    tokens: formatTokenAmount(decodeTokenAccount(holding ?? null)?.amount ?? 0n, decimals),
    lamports: (account?.lamports ?? 0n).toString(),
    txHash: landed.signatures[0] ?? '',
  };
}

/**
 * All transactions land, or none; the local chain decides at submission.
 * @returns the signatures, or why no transaction landed.
 */
async function landWhole(
  chain: Chain,
  treasury: Signer,
  parts: readonly { readonly instructions: readonly Instruction[]; readonly signer?: Signer }[],
): Promise<{ readonly signatures: readonly string[] } | { readonly refusal: string }> {
  const { blockhash } = await chain.latestBlockhash();
  const transactions = await Promise.all(
    parts.map(async ({ instructions, signer }) => {
      const message = compileLegacyMessage({ payer: treasury.address, instructions, blockhash });
      return (await sign([message], signer === undefined ? [treasury] : [treasury, signer]))[0];
    }),
  );
  const [rejection] = await chain.submitBundles([transactions.map(({ bytes }) => bytes)]);
  return rejection == null
    ? { signatures: transactions.map(({ signature }) => signature) }
    : { refusal: refused(rejection).reason };
}
