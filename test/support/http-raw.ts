/** Sends bytes over a plain socket, for requests that no HTTP client sends. */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Splits the received text into answers by content-length. */
export function parseAnswers(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest.startsWith('HTTP/1.1 ')) {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const status = Number(statusLine.split(' ')[1]);
    const length = status === 100 ? 0 : Number(headers['content-length'] ?? 0);
    if (status !== 100) answers.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

export function sendRaw(port: number, ...parts: readonly (string | Buffer)[]): Promise<readonly RawAnswer[]> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(parseAnswers(received)));
    for (const part of parts) socket.write(part);
  });
}
