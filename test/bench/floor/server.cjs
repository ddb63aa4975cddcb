/**
 * The least that an answer can take: plain node reads each request to its end, does nothing and answers with a constant. Prints its
 * address as JSON, and ends with its standard input.
 */
'use strict';
const { createServer } = require('node:http');

const ANSWER = JSON.stringify({ answer: 'x'.repeat(200) });

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json');
    response.end(ANSWER);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`),
);
process.stdin.resume().on('end', () => process.exit());
