/** The same object, of which each call of a method by its name goes through `around`. */
export const intercept = <Target extends object>(
  target: Target,
  around: (method: string, call: () => unknown) => unknown,
): Target =>
  new Proxy(target, {
    get: (_target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      return (...args: readonly unknown[]): unknown => around(name, () => Reflect.apply(value, target, args));
    },
  });
