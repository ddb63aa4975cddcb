/** The service interface: its operations, over HTTP or in this process. */
import type * as z from 'zod';
import type { Call, Reply } from './call.js';
import { OPERATION_LIST, OPERATIONS, type OperationId } from './operations.js';

type Table = typeof OPERATIONS;

export type InputOf<Id extends OperationId> = Id extends OperationId
  ? Table[Id]['request'] extends z.ZodType
    ? Readonly<z.infer<Table[Id]['request']>>
    : null
  : never;

export type AnswerOf<Id extends OperationId> = z.infer<Table[Id]['response']>;

type Arguments<Id extends OperationId> = Table[Id]['request'] extends null
  ? [call: Call]
  : [input: InputOf<Id>, call: Call];

type Operations = {
  -readonly [Id in keyof Table]: (...given: Arguments<Id>) => Promise<Reply<AnswerOf<Id>>>;
};

/** Each operation checks its input, so callers may pass unchecked JSON. Every failure is a FlywheelError. */
export interface Service extends Operations {
  close(): Promise<void>;
}

export type Perform = <Id extends OperationId>(
  id: Id,
  input: InputOf<Id>,
  call: Call,
) => Promise<Reply<AnswerOf<Id>>>;

export function eachOperation(perform: Perform): Operations {
  const methods = OPERATION_LIST.map((operation) => {
    const { id } = operation;
    // Evaluated at the call: creating the schemas takes time, and most operations are never called.
    const method = (...given: [call: Call] | [input: InputOf<OperationId>, call: Call]) =>
      operation.request === null
        ? perform(id, null, given[0] as Call)
        : perform(id, given[0] as InputOf<OperationId>, given[1] as Call);
    return [id, method] as const;
  });
  return Object.fromEntries(methods) as unknown as Operations;
}

export const callOperation = <Id extends OperationId>(
  service: Operations,
  id: Id,
  input: unknown,
  call: Call,
): Promise<Reply<AnswerOf<Id>>> =>
  Reflect.apply(service[id], service, OPERATIONS[id].request === null ? [call] : [input, call]);
