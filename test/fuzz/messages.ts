/** Random inner messages: burns, transfers, memos, votes in other multisigs, missing permissions, repeated keys. */

import {
  type AccountMeta,
  type Address,
  associatedTokenAddress,
  burnChecked,
  compile,
  createAccount,
  createAssociatedTokenAccountIdempotent,
  ephemeralSignerAddress,
  type Instruction,
  type Message,
  memo,
  readBuffer,
  readonlySigner,
  rentExemptLamports,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  staticAccounts,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  transfer,
  transferChecked,
  writableAccount,
} from './program.js';
import type { World } from './world.js';

/** The instruction's number (spl-token-interface, `TokenInstruction`). */
const CLOSE_TOKEN_ACCOUNT = 9;

interface MessageContext {
  readonly vault: Address;
  /** Its ephemeral signers are derived from this address. */
  readonly parent: Address;
  readonly protectedAccounts: readonly Address[];
}

function tokenCall(world: World, vault: Address): Instruction {
  const { random } = world;
  const tokenProgram = random.oneIn(5) ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  const mint = tokenProgram === TOKEN_PROGRAM ? world.mint : world.otherMint;
  const account = associatedTokenAddress(vault, mint, tokenProgram);
  const amount = random.oneIn(8) ? 10n ** 12n : BigInt(random.below(1_000));
  const common = { mint, amount, decimals: random.oneIn(10) ? 5 : 6, tokenProgram };
  if (random.oneIn(2)) return burnChecked({ ...common, account, owner: vault });
  const to = associatedTokenAddress(world.wallet().address, mint, tokenProgram);
  return transferChecked({ ...common, from: account, to, owner: vault });
}

function lamportCall(world: World, { vault, parent }: MessageContext): Instruction {
  const { random } = world;
  const held = world.get(vault)?.lamports ?? 0n;
  const most = random.oneIn(6) ? held : held / 50n;
  const lamports = random.oneIn(9)
    ? held - BigInt(random.below(900_000))
    : BigInt(random.below(Number(most % 10n ** 9n) + 1));
  const from = random.oneIn(6) ? ephemeralSignerAddress(parent, random.below(3)).address : vault;
  return transfer({
    from,
    to: random.oneIn(3) ? world.anyAddress() : world.wallet().address,
    lamports: lamports < 0n ? 0n : lamports,
  });
}

/** Opens an account at an ephemeral signer's address; the address differs after closing and opening. */
function opening(world: World, { vault, parent }: MessageContext): Instruction {
  const sizeBytes = world.random.below(200);
  return createAccount({
    from: vault,
    account: ephemeralSignerAddress(parent, world.random.below(3)).address,
    lamports: world.random.oneIn(5) ? 0n : rentExemptLamports(sizeBytes),
    sizeBytes,
    owner: world.random.pick([SYSTEM_PROGRAM, TOKEN_PROGRAM, SQUADS_PROGRAM]),
  });
}

/** Empties the vault's token account and closes it into itself or a wallet; usually opens it again at once. */
function reopening(world: World, vault: Address): readonly Instruction[] {
  const { random, mint } = world;
  const account = associatedTokenAddress(vault, mint, TOKEN_PROGRAM);
  const amount = tokensIn(world, account);
  const common = { mint, amount, decimals: 6, tokenProgram: TOKEN_PROGRAM };
  const to = random.oneIn(3) ? random.pick([vault, account]) : world.wallet().address;
  const close: Instruction = {
    program: TOKEN_PROGRAM,
    accounts: [writableAccount(account), writableAccount(to), readonlySigner(vault)],
    data: Uint8Array.of(CLOSE_TOKEN_ACCOUNT),
  };
  const open = createAssociatedTokenAccountIdempotent({
    payer: vault,
    owner: vault,
    mint,
    tokenProgram: TOKEN_PROGRAM,
  });
  return [burnChecked({ ...common, account, owner: vault }), close, ...(random.oneIn(4) ? [] : [open])];
}

function tokensIn(world: World, account: Address): bigint {
  const data = world.get(account)?.data;
  return data !== undefined && data.length >= 72 ? readBuffer(data).readBigUInt64LE(64) : 0n;
}

/** Programs callable at top level only. */
const PRECOMPILES = [
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
] as Address[];

/** Requests zero signature checks, which succeeds. */
const precompile = (program: Address): Instruction => ({ program, accounts: [], data: Uint8Array.of(0, 0) });

function anyCall(world: World, context: MessageContext): Instruction {
  const { random } = world;
  const { vault } = context;
  if (random.oneIn(60)) return precompile(random.pick(PRECOMPILES));
  switch (random.below(7)) {
    case 0:
      return lamportCall(world, context);
    case 1:
      return memo(`note ${random.below(1000)}`, random.oneIn(2) ? [vault] : []);
    case 2:
      return createAssociatedTokenAccountIdempotent({
        payer: vault,
        owner: world.anyAddress(),
        mint: world.mint,
        tokenProgram: TOKEN_PROGRAM,
      });
    case 3: {
      const touched = random.pick([...context.protectedAccounts, world.anyAddress()]);
      const call = memo('x', []);
      return { ...call, accounts: [{ address: touched, signer: false, writable: random.oneIn(2) }] };
    }
    case 4:
      return opening(world, context);
    default:
      return tokenCall(world, vault);
  }
}

/** Moves static keys that a lookup table has, and that `isMovable`, to the table. */
export function takenFrom(
  table: Address,
  entries: readonly Address[],
  message: Message,
  isMovable: (key: Address) => boolean = () => true,
): Message {
  const accounts = staticAccounts(message);
  const taken = accounts.filter(
    ({ address, signer }) => !signer && entries.includes(address) && isMovable(address),
  );
  const kept = accounts.filter((account) => !taken.includes(account));
  const written = taken.filter(({ writable }) => writable);
  const read = taken.filter(({ writable }) => !writable);
  const order = [...kept, ...written, ...read];
  const moved = (index: number): number => order.indexOf(accounts[index] as AccountMeta);
  const indexesOf = (some: readonly AccountMeta[]) =>
    Uint8Array.from(some, ({ address }) => entries.indexOf(address));
  return {
    ...message,
    writableNonSigners: kept.filter(({ signer, writable }) => !signer && writable).length,
    staticKeys: kept.map(({ address }) => address),
    instructions: message.instructions.map(({ programIndex, accountIndexes, data }) => ({
      ...{ programIndex: moved(programIndex), accountIndexes: Uint8Array.from(accountIndexes, moved), data },
    })),
    lookups:
      taken.length === 0
        ? []
        : [{ table, writableIndexes: indexesOf(written), readonlyIndexes: indexesOf(read) }],
  };
}

/** Moves some keys that need not be static into a new table. */
function withTable(world: World, message: Message): Message {
  const { random } = world;
  const some = message.staticKeys.slice(message.signers).filter(() => random.oneIn(2));
  if (some.length === 0) return message;
  const entries = random.shuffled([...some, world.anyAddress()]);
  return takenFrom(world.addTable(entries), entries, message);
}

function damaged(world: World, message: Message): Message {
  const { random } = world;
  switch (random.below(5)) {
    case 0:
      return { ...message, signers: message.signers + 1 - random.below(3) };
    case 1:
      return { ...message, writableNonSigners: random.below(6) };
    case 2:
      return { ...message, staticKeys: [...message.staticKeys, random.pick(message.staticKeys)] };
    case 3:
      return { ...message, writableSigners: random.below(3) };
    default:
      return {
        ...message,
        instructions: [
          ...message.instructions,
          {
            programIndex: random.below(12),
            accountIndexes: random.bytes(2).map((byte) => byte % 12),
            data: random.bytes(3),
          },
        ],
      };
  }
}

/** A message for a vault; most succeed. @param nested - returns a new instruction of the program that the vault can sign. */
export function randomMessage(
  world: World,
  context: MessageContext,
  nested: () => Instruction | undefined,
): Message {
  const { random } = world;
  const calls = Array.from({ length: random.below(4) }, () => {
    if (random.oneIn(12)) return reopening(world, context.vault);
    const own = random.oneIn(4) ? nested() : undefined;
    return [own ?? anyCall(world, context)];
  }).flat();
  const plain = compile(context.vault, calls);
  const message = random.oneIn(4) ? withTable(world, plain) : plain;
  return random.oneIn(10) ? damaged(world, message) : message;
}
