{
  description = "Language server for local, private, multi-line code completion";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = nixpkgs.lib.genAttrs systems;
    in
    {
      # Most of the dependencies are not in nixpkgs: uv installs this very version into its own cache at
      # the first start, and llama.cpp comes from nixpkgs.
      packages = each (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.writeShellApplication {
            name = "fim-lsp";
            runtimeInputs = [ pkgs.uv pkgs.python313 pkgs.llama-cpp ];
            text = ''
              export UV_PYTHON=${pkgs.python313}/bin/python3
              export LD_LIBRARY_PATH=${pkgs.lib.makeLibraryPath [ pkgs.stdenv.cc.cc.lib pkgs.zlib ]}
              exec uvx --from 'fim-lsp=={{version}}' fim-lsp "$@"
            '';
          };
        }
      );
      apps = each (system: {
        default = {
          type = "app";
          program = "${self.packages.${system}.default}/bin/fim-lsp";
        };
      });
    };
}
