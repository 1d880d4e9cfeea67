// A certified OpenID Connect provider (https://github.com/panva/node-oidc-provider), with its own pages for development:
// any name signs in with any password, and is in the group of that name. Prints its address.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [callback, afterSignOut] = process.argv.slice(2);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "tarsy",
        client_secret: "secret-of-tarsy",
        redirect_uris: [callback],
        post_logout_redirect_uris: [afterSignOut],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
      {
        client_id: "tarsy agents",
        client_secret: "secret: of/agents",
        redirect_uris: [],
        grant_types: ["client_credentials"],
        response_types: [],
      },
    ],
    features: { clientCredentials: { enabled: true }, introspection: { enabled: true }, revocation: { enabled: true } },
    pkce: { required: () => true },
    scopes: ["openid", "profile", "email", "groups", "tools"],
    claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"], groups: ["groups"] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, email: `${id}@example.com`, email_verified: true, groups: [`${id}s`] }),
    }),
    cookies: { keys: ["only-for-tests"] },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
