/** `flywheel proof hash`: the SHA-256 that a burn or a pipeline with this proof carries. */
import { proofHash } from '../../../values/digest.js';
import { type CommandSpec, inSteps } from '../../command.js';
import { readInputText } from '../../files/read-input.js';
import { readProof } from '../../input/proof.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<file>', description: 'the proof, a JSON object; - for standard input' }],
  details: [
    'The hash is taken over the canonical JSON (RFC 8785), so white space and the order of keys do not matter.',
  ],
  output: ['{ "hash": sha256 }'],
  errors: ['ERR_INPUT_INVALID'],
  examples: ['flywheel proof hash proof.json', `echo '{"orderId":"A-1001"}' | flywheel proof hash -`],
  run: inSteps({
    parse: (invocation, { context }) => readInputText(context, invocation.requiredArgument(0)),
    run: async (_session, text) => ({ hash: proofHash(readProof(text)) }),
    view: ({ hash }) => [hash],
  }),
};
