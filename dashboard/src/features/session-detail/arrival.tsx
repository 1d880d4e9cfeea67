/** The moment at which the analysis arrives while a reader watches. */
import Button from "@mui/material/Button";
import { ArrowUp } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";

// What is this close to the top is in view by itself.
const TOP_PX = 200;

/** A reader who follows the end is taken to it: that is what they have been waiting for. One who reads elsewhere is told, and stays. */
export function useArrival(ready: boolean) {
  const wasReady = useRef(ready);
  const follows = useRef(true);
  const [unseen, setUnseen] = useState(false);
  const onFollowing = useCallback((following: boolean) => {
    follows.current = following;
  }, []);
  const show = useCallback(() => {
    setUnseen(false);
    window.scrollTo({ top: 0, behavior: "smooth" });
  }, []);
  useEffect(() => {
    if (ready && !wasReady.current) {
      if (follows.current) show();
      else setUnseen(window.scrollY > TOP_PX);
    }
    wasReady.current = ready;
  }, [ready, show]);
  useEffect(() => {
    if (!unseen) return;
    const seen = () => window.scrollY <= TOP_PX && setUnseen(false);
    window.addEventListener("scroll", seen, { passive: true });
    return () => window.removeEventListener("scroll", seen);
  }, [unseen]);
  return { unseen, show, onFollowing };
}

export function ShowAnalysis({ onShow }: { onShow: () => void }) {
  return (
    <Button variant="contained" size="small" startIcon={<ArrowUp size={15} />} onClick={onShow} sx={{ position: "fixed", bottom: { xs: 72, lg: 20 }, left: "50%", transform: "translateX(-50%)", zIndex: 5 }}>
      Show the analysis
    </Button>
  );
}
