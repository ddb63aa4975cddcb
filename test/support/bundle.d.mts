import type { BuildOptions } from 'esbuild';

export function bundleOf(entry: string): BuildOptions & { readonly outfile: string };
