{
  description = "Record, read, filter, compare and draw profiles";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "fg-tools";
          version = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).package.version;
          src = ../.;
          cargoLock.lockFile = ../Cargo.lock;
          buildFeatures = [ "png" "tui" ];
          # The tests record programs, which a build's sandbox does not allow.
          doCheck = false;
        };
      });
    };
}
